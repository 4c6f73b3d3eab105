"""The types that the tests of the page publish."""

PLAYER = "com.example.player"
TYPES = r"""root Settings

/// The settings of a player, such as a person changes them.
struct Settings {
    /// How loud it is.
    volume: Int(0...10) = 7
    /// Whether the sound is off.
    muted: Bool = false
    /// Whether the next title begins by itself.
    autoplay: Bool?
    theme: Theme = light
    /// What stands in the title of the window.
    title: String(1...40) = "Player"
    /// A text of several lines.
    notes: String(...500)?
    /// How fast it plays.
    speed: Double(0.25...4.0) = 1.0
    ratio: Double = 1.5
    /// The most bytes of the cache.
    cacheBytes: Int64 = 1000
    /// Words to find titles by.
    tags: [String] = ["jazz", "live"]
    scores: [Int(0...100)] = []
    since: Date?
    icon: Data?
    deviceID: UUID?
    home: URL?
    price: Decimal?
    /// Where to log in.
    token: String? @secret
    old_volume: Int? @deprecated("use volume")
    /// Seconds by name.
    limits: [String: Int(0...3600)] = ["fade": 3]
    hosts: [Host] = []
    /// Where the sound goes.
    output: Output?
    anything: Any?
    /// Where the window is.
    window: Window
    backup: Backup?
}

struct Window {
    /// In pixels.
    width: Int(1...16384) = 640
    height: Int(1...16384) = 480
    title: String? @key(window_title)
    position: Point?
}

struct Point { x: Int = 0; y: Int = 0 }

/// Copies of the library.
struct Backup {
    folder: String(1...) = "/var/backups"
    /// How often.
    every: Period = week
    password: String? @secret
}

enum Period: String { day, week, month }

enum Theme: String {
    /// For the day.
    light,
    /// For the night.
    dark,
    system @deprecated("use light or dark") }

struct Host { name: String; port: Int(1...65535) = 80; token: String? @secret; aliases: [String] = [] }

enum Output { file(path: String = "out.wav", bits: Int(8...32) = 16), device(name: String), silent }
"""

# A script wherever a text can be; each would write into the page's title.
SCRIPT = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
EVIL = "com.example.evil"
EVIL_TYPES = f"""root Settings

/// {SCRIPT}
struct Settings {{
    /// {SCRIPT}
    name: String = "a" @key("<img src=x onerror=alert(1)>")
    old: Int? @deprecated("<script>document.title='taken'</script>")
    theme: Theme = light
    table: [String: String] = [:]
    tags: [String] = []
}}

enum Theme: String {{ /// {SCRIPT}
    light, dark = "</script><script>document.title='taken'</script>" }}
"""


def many(count):
    """A type of so many settings of all kinds."""
    kinds = ["Int(0...10) = 7", "Bool = false", "String = \"text\"", "Theme = light", "Double = 1.5", "Int = 100"]
    lines = [f"    /// What the setting {number} is about, in some words.\n    setting{number}: {kinds[number % len(kinds)]}"
             for number in range(count)]
    return "root Settings\nstruct Settings {\n" + "\n".join(lines) + "\n}\nenum Theme: String { light, dark }\n"
