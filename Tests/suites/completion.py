#!/usr/bin/env python3
"""Completion of `kvdefaults` in zsh and fish, each in a terminal. tool.py has bash. Prints TAP."""
import tap
from tool import COMPLETED, PLAYER, in_shell, place_for_completion, try_quoted_keys


def in_zsh(place, line, *wanted):
    setup = "unsetopt zle_bracketed_paste; autoload -U compinit && compinit -u -D; source completion.zsh; " \
            "compdef _kvdefaults kvdefaults; bindkey '^I' complete-word; setopt nolistbeep"
    return in_shell(place, ["zsh", "-f", "-i"], setup, line, wanted)


def in_fish(place, line, *wanted):
    setup = "function fish_prompt; echo '% '; end; source completion.fish"
    return in_shell(place, ["fish", "--no-config", "-i"], setup, line, wanted)


def main():
    place = place_for_completion("zsh", "fish")
    for line, wanted in COMPLETED:
        text = in_zsh(place, line, *wanted)
        tap.check(all(word in text for word in wanted), f"zsh completes {line!r}", repr(text))
    try_quoted_keys(place, "zsh", in_zsh)
    for line, wanted in ((f"kvdefaults get {PLAYER} vol", "volume"), ("kvdefaults get com.example.play", PLAYER),
                         (f"kvdefaults set {PLAYER} theme da", "dark")):
        text = in_fish(place, line, wanted)
        tap.check(wanted in text, f"fish completes {line!r}", repr(text))
    try_quoted_keys(place, "fish", in_fish)
    place.close()
    tap.finish()


main()
