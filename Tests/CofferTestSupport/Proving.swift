import Foundation

/// Whether the long tests of `./run prove` are enabled.
package let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil
