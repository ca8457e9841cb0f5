import CofferCPostgreSQL

/// A call with the values of its parameters in the form in which libpq takes them.
///
/// It is encoded by the caller, since the thread of the loop serves all connections.
final class EncodedCall: Sendable {
  let statement: ServerStatement
  let count: Int32
  /// Whether every value has a size that the protocol can express.
  let isValid: Bool
  // Written by init only, freed by deinit only. Each pointer leads into `block`, at the encoded bytes of a parameter.
  private nonisolated(unsafe) let block: UnsafeMutableRawBufferPointer
  // As `block`.
  nonisolated(unsafe) let values: UnsafeMutablePointer<UnsafePointer<CChar>?>
  // As `block`.
  nonisolated(unsafe) let sizes: UnsafeMutablePointer<Int32>
  // As `block`.
  nonisolated(unsafe) let formats: UnsafeMutablePointer<Int32>

  /// The size of the parameters in bytes.
  var size: Int { block.count }

  init(_ call: ServerCall) {
    statement = call.statement
    let number = call.values.count
    count = Int32(clamping: number)
    let parameterSizes = call.values.map(\.encodedSize)
    isValid = number == call.statement.types.count && parameterSizes.allSatisfy { $0 <= Int(Int32.max) }
    // An empty value needs an address of its own, since a missing one is NULL.
    block = .allocate(byteCount: max(1, parameterSizes.reduce(0, +)), alignment: 8)
    values = .allocate(capacity: max(1, number))
    sizes = .allocate(capacity: max(1, number))
    formats = .allocate(capacity: max(1, number))
    var writer = ValueWriter(block)
    for (index, value) in call.values.enumerated() {
      let start = writer.rest.baseAddress ?? block.baseAddress
      (values + index).initialize(to: UnsafePointer(start?.assumingMemoryBound(to: CChar.self)))
      if case .null = value { values[index] = nil }
      (sizes + index).initialize(to: Int32(clamping: parameterSizes[index]))
      (formats + index).initialize(to: 1)
      value.encode(into: &writer)
    }
  }

  deinit {
    block.deallocate()
    values.deallocate()
    sizes.deallocate()
    formats.deallocate()
  }
}
