import Foundation

/// The address of a listening TCP socket that another process has opened, such as a service manager.
struct ListeningAddress: Equatable {
  /// The numeric address.
  let host: String
  let port: UInt16

  /// Asks the system; `nil` for a descriptor that is not a TCP socket, such as that of a Unix socket.
  init?(descriptor: Int32) {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    guard result == 0 else { return nil }
    switch Int32(address.ss_family) {
    case AF_INET:
      let four = withUnsafeBytes(of: address) { $0.loadUnaligned(as: sockaddr_in.self) }
      let bytes = withUnsafeBytes(of: four.sin_addr, Array.init)
      host = bytes.map(String.init).joined(separator: ".")
      port = UInt16(bigEndian: four.sin_port)
    case AF_INET6:
      let six = withUnsafeBytes(of: address) { $0.loadUnaligned(as: sockaddr_in6.self) }
      let bytes = withUnsafeBytes(of: six.sin6_addr, Array.init)
      // A socket for both families that is bound to an address of IPv4.
      let isFour = bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
      host = isFour ? bytes.dropFirst(12).map(String.init).joined(separator: ".") : Self.text(six.sin6_addr)
      port = UInt16(bigEndian: six.sin6_port)
    default: return nil
    }
  }

  private static func text(_ address: in6_addr) -> String {
    var address = address
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    inet_ntop(AF_INET6, &address, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
