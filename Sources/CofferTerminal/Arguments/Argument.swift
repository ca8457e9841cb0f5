import Foundation

/// One argument as the system gave it: any bytes but NUL.
///
/// `CommandLine.arguments` would replace what is not UTF-8, and a value has to be stored as it was typed.
package struct Argument: Equatable, Sendable {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }
  package init(_ text: String) { bytes = Array(text.utf8) }

  /// The argument as text; `nil` when it is not UTF-8.
  package var text: String? { String(validating: bytes, as: UTF8.self) }

  /// This process's arguments, without its name.
  package static func ofThisProcess() -> [Argument] {
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
