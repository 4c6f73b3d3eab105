// Tests/suites/packages.py writes the README's snippet over this file's copy.
