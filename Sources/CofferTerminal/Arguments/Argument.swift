import Foundation

/// A command-line argument with its original bytes, which may be any but NUL.
///
/// `CommandLine.arguments` replaces bytes that are not valid UTF-8. An argument keeps them, so that a value or a file
/// name can be used as it was typed. Two arguments are equal if their bytes are equal.
public struct Argument: Equatable, Sendable {
  /// The bytes, without the NUL byte that ends them in C.
  public let bytes: [UInt8]

  /// Creates an argument from any bytes.
  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Creates an argument from the UTF-8 bytes of `text`.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// The argument as text; `nil` if it is not valid UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// Returns the arguments of this process, without its name.
  static func ofThisProcess() -> [Argument] {
    CommandLine.unsafeArgv.advanced(by: CommandLine.argc > 0 ? 1 : 0).sequence.map(Argument.init(bytes:))
  }
}

extension UnsafeMutablePointer<UnsafeMutablePointer<Int8>?> {
  /// The C strings up to the null pointer that ends the array.
  fileprivate var sequence: [[UInt8]] {
    var strings: [[UInt8]] = []
    while let string = self[strings.count] {
      strings.append(Array(UnsafeRawBufferPointer(start: string, count: strlen(string))))
    }
    return strings
  }
}
