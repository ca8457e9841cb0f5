import WatchifyCZlib

/// Returns the bytes as a gzip member; `nil` if zlib fails.
func gzip(_ bytes: [UInt8]) -> [UInt8]? {
  var stream = z_stream()
  let size = Int32(MemoryLayout<z_stream>.size)
  // 15 bits of window, plus 16 for the gzip format. The fastest level, because tests wait for it.
  guard deflateInit2_(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else {
    return nil
  }
  defer { deflateEnd(&stream) }
  var bytes = bytes
  var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
  let result = bytes.withUnsafeMutableBufferPointer { source in
    output.withUnsafeMutableBufferPointer { target in
      stream.next_in = source.baseAddress
      stream.avail_in = UInt32(truncatingIfNeeded: source.count)
      stream.next_out = target.baseAddress
      stream.avail_out = UInt32(truncatingIfNeeded: target.count)
      return deflate(&stream, Z_FINISH)
    }
  }
  guard result == Z_STREAM_END else { return nil }
  output.removeLast(output.count - Int(stream.total_out))
  return output
}

/// Returns a short checksum, sufficient to distinguish versions of a page.
func checksum(_ bytes: [UInt8]) -> String {
  let count = UInt32(truncatingIfNeeded: bytes.count)
  return String(crc32(0, bytes, count), radix: 16) + String(adler32(1, bytes, count), radix: 16)
}

/// Returns a gzip member that unpacks to `count` bytes: the beginning of a list and spaces. One piece is compressed
/// once and repeated, which the flush between pieces allows.
func gzipBomb(_ count: Int) -> [UInt8] {
  let start = Array(#"{"products":["#.utf8)
  let filler = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
  let pieces = max(0, count - start.count) / filler.count
  var output: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
  let piece = deflated(filler)
  output += deflated(start)
  output.reserveCapacity(output.count + pieces * piece.count + 16)
  for _ in 0..<pieces { output += piece }
  // An empty last block, and a checksum that is never verified.
  return output + [3, 0] + [UInt8](repeating: 0, count: 8)
}

/// Returns the bytes as a raw deflate stream that ends at a byte boundary and does not refer to earlier data.
private func deflated(_ bytes: [UInt8]) -> [UInt8] {
  var stream = z_stream()
  let size = Int32(MemoryLayout<z_stream>.size)
  guard deflateInit2_(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else { return [] }
  defer { deflateEnd(&stream) }
  var bytes = bytes
  var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 16)
  bytes.withUnsafeMutableBufferPointer { source in
    output.withUnsafeMutableBufferPointer { target in
      stream.next_in = source.baseAddress
      stream.avail_in = UInt32(truncatingIfNeeded: source.count)
      stream.next_out = target.baseAddress
      stream.avail_out = UInt32(truncatingIfNeeded: target.count)
      deflate(&stream, Z_FULL_FLUSH)
    }
  }
  output.removeLast(output.count - Int(stream.total_out))
  return output
}
