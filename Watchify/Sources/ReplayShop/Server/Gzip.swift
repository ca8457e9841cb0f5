import WatchifyCZlib

/// The bytes as a gzip member; `nil` when zlib refuses.
func gzip(_ bytes: [UInt8]) -> [UInt8]? {
  var stream = z_stream()
  let size = Int32(MemoryLayout<z_stream>.size)
  // 15 bits of window, and 16 more for gzip's frame. The fastest level: a test waits for nothing else.
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

/// A short text that differs when the bytes do: good enough to tell one page from its next version.
func checksum(_ bytes: [UInt8]) -> String {
  let count = UInt32(truncatingIfNeeded: bytes.count)
  return String(crc32(0, bytes, count), radix: 16) + String(adler32(1, bytes, count), radix: 16)
}

/// Blanks behind the beginning of a list, so many bytes when they are unpacked. A piece is packed once and repeated:
/// the flush between two pieces lets each stand for itself.
func gzipBomb(_ count: Int) -> [UInt8] {
  let start = Array(#"{"products":["#.utf8)
  let filler = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
  let pieces = max(0, count - start.count) / filler.count
  var output: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
  let piece = deflated(filler)
  output += deflated(start)
  output.reserveCapacity(output.count + pieces * piece.count + 16)
  for _ in 0..<pieces { output += piece }
  // An empty last block, and a sum that nobody gets to.
  return output + [3, 0] + [UInt8](repeating: 0, count: 8)
}

/// Bytes as a raw stream that ends at a byte and knows nothing of what was before.
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
