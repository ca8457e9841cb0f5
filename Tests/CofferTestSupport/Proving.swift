import Foundation

/// The long proofs run: `./run prove`.
package let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil
