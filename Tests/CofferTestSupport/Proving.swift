package import CofferTesting
import Foundation

/// Whether the long tests of `./run prove` are enabled.
package let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil

extension StorageConformance {
  /// Every sixth check, for what repeats the others in one more form.
  package static let everySixth = checks.enumerated().filter { $0.offset % 6 == 0 }.map(\.element)
}
