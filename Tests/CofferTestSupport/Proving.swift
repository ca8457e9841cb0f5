import Foundation

/// Whether the long tests of `./run prove` are enabled.
package let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil

/// Whether this is a build for the thread sanitizer, as `./run prove` makes one.
package let isUnderThreadSanitizer = ProcessInfo.processInfo.environment["COFFER_TSAN"] != nil
