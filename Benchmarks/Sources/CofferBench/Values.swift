import Coffer
import Foundation

/// Keys and values for all subjects. Each write stores a different value, since SQLite does not write unchanged pages.
struct Values {
  let count: Int
  let keys: [KeyName]
  let names: [[UInt8]]

  init(count: Int) throws {
    self.count = count
    names = (0..<count).map { Array(String(format: "app.item.%08d.setting", $0).utf8) }
    keys = try names.map { try KeyName(String(decoding: $0, as: UTF8.self)) }
  }

  /// Returns the index of the key for operation `index`, in a pseudorandom order.
  func slot(_ index: Int) -> Int { Int(truncatingIfNeeded: UInt64(index) &* 0x9E37_79B9_7F4A_7C15 >> 20) % count }

  static func bytes(_ index: Int, size: Int = 256) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: size)
    withUnsafeBytes(of: index) { bytes.replaceSubrange(0..<8, with: $0) }
    return bytes
  }
}

func temporaryDirectory() throws -> URL {
  let base = ProcessInfo.processInfo.environment["BENCH_DIR"].map { URL(fileURLWithPath: $0) }
  let url = (base ?? FileManager.default.temporaryDirectory).appendingPathComponent("coffer-bench-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  return url
}
