import Foundation

/// A listening socket of the test, as a service manager would pass it.
final class PassedSocket: Sendable {
  struct Failure: Error {
    let number: Int32
  }

  let descriptor: Int32

  /// Listens at any port of a numeric address of IPv4 or IPv6, or only keeps that port for a program that listens there
  /// with SO_REUSEPORT.
  convenience init(_ host: String, listens: Bool = true) throws {
    var four = sockaddr_in()
    four.sin_family = sa_family_t(AF_INET)
    if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
      try self.init(AF_INET, four, listens: listens)
      return
    }
    var six = sockaddr_in6()
    six.sin6_family = sa_family_t(AF_INET6)
    guard inet_pton(AF_INET6, host, &six.sin6_addr) == 1 else { throw Failure(number: EINVAL) }
    try self.init(AF_INET6, six, listens: listens)
  }

  /// Listens at a Unix socket with a short path.
  convenience init(unix path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    try self.init(AF_UNIX, address)
  }

  private init<Address>(_ family: Int32, _ address: Address, listens: Bool = true) throws {
    descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    var isShared: Int32 = listens ? 0 : 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &isShared, socklen_t(MemoryLayout<Int32>.size))
    let bound = withUnsafeBytes(of: address) { bytes in
      bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard bound == 0, !listens || listen(descriptor, 16) == 0 else { throw Failure(number: errno) }
  }

  deinit { close(descriptor) }

  /// Whether this device has an address: some have no IPv6.
  static func isPossible(_ host: String) -> Bool { (try? PassedSocket(host)) != nil }

  /// The port; 0 for a Unix socket. IPv4 and IPv6 store it at the same offset.
  var port: UInt16 {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    guard result == 0, address.ss_family != sa_family_t(AF_UNIX) else { return 0 }
    return withUnsafeBytes(of: address) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
  }
}
