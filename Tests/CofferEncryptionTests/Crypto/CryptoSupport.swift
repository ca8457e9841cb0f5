import CofferCore
import CofferEncryption
import Foundation
import Testing

extension Data {
  /// Creates the bytes of hexadecimal digits.
  init(hex: String) {
    let digits = hex.compactMap(\.hexDigitValue)
    self.init(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
  }

  var hex: String { map { String(format: "%02x", $0) }.joined() }
}

extension SecretBytes {
  convenience init(_ text: String) { self.init(copying: Data(text.utf8)) }

  var data: Data { withUnsafeBytes { Data($0) } }
  var text: String { String(decoding: data, as: UTF8.self) }
}

/// Calls `body` with a temporary directory, which is removed afterwards.
func withFolder(_ body: (URL) throws -> Void) throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-crypto-\(UUID())")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  try body(folder)
}
