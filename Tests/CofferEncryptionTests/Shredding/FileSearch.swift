import CofferCore
import Foundation

/// Searches the files of a store for the sealed bodies of key rings, in pieces: each byte of a piece could be decrypted
/// by itself with the root key.
struct FileSearch {
  private static let pieceSize = 16
  private var pieces: Set<Data> = []

  /// Adds the present key ring of a store to what is searched for.
  mutating func add(_ engine: any StorageEngine) async throws {
    guard let record = try await engine.record(.keyRing)?.content else { return }
    // The header is the same in each ring; the body is between it and the checksum.
    let body = Data(record.dropFirst(112).dropLast(32))
    for start in 0...(body.count - Self.pieceSize) { pieces.insert(Data(body[start..<start + Self.pieceSize])) }
  }

  /// Returns the names of the files in a directory that have a piece.
  func found(in directory: URL) throws -> [String] {
    let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)?.allObjects ?? []
    return try files.compactMap { file in
      guard let file = file as? URL, let content = try? Data(contentsOf: file), try has(content) else { return nil }
      return file.lastPathComponent
    }
  }

  private func has(_ content: Data) throws -> Bool {
    let starts = Set(pieces.map { $0.prefix(8).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) } })
    return content.withUnsafeBytes { bytes in
      guard bytes.count >= Self.pieceSize else { return false }
      return (0...(bytes.count - Self.pieceSize)).contains { offset in
        starts.contains(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
          && pieces.contains(Data(bytes[offset..<offset + Self.pieceSize]))
      }
    }
  }
}
