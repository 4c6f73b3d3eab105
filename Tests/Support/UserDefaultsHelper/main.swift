// A program that knows nothing of the store: Foundation's UserDefaults on the same file.
// `UserDefaultsHelper SUITE COUNT`, with XDG_CONFIG_HOME naming the folder.
import Foundation

let arguments = CommandLine.arguments
guard arguments.count == 3, let defaults = UserDefaults(suiteName: arguments[1]), let count = Int(arguments[2]) else {
    exit(2)
}
for number in 1...count {
    defaults.set(number, forKey: "neighbour")
    guard defaults.synchronize() else { exit(1) }
    print(number)
    usleep(20_000)
}
