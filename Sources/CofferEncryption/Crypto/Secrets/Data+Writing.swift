import CofferCore
import Foundation

extension Data {
  /// Creates a buffer of `count` uninitialized bytes and calls `fill` to write all of them. If it throws, they are
  /// wiped.
  /// - Parameter isSecret: whether they are also wiped when the last reference is released. Copies that are made of
  ///   them are not.
  init(writing count: Int, isSecret: Bool = false, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    guard count > 0 else {
      try fill(UnsafeMutableRawBufferPointer(start: nil, count: 0))
      self.init()
      return
    }
    guard let start = malloc(count) else {
      throw StorageError(.inputOutput, "There is no memory for \(count) bytes.", advice: "Nothing was written.")
    }
    let bytes = UnsafeMutableRawBufferPointer(start: start, count: count)
    do { try fill(bytes) } catch {
      Cryptography.wipe(bytes)
      free(start)
      throw error
    }
    let wiping = Deallocator.custom { start, count in
      Cryptography.wipe(UnsafeMutableRawBufferPointer(start: start, count: count))
      Foundation.free(start)
    }
    self.init(bytesNoCopy: start, count: count, deallocator: isSecret ? wiping : .free)
  }
}
