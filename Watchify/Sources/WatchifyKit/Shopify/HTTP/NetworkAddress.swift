import Foundation

/// The addresses to which a request may be sent.
enum NetworkReach: Sendable {
  /// Public addresses.
  case internet
  /// Loopback addresses.
  case thisDevice
  /// Private and loopback addresses.
  case ownNetworks
  /// All addresses: the user entered a name or address of a private network.
  case anywhere

  func includes(_ address: NetworkAddress) -> Bool {
    switch self {
    case .internet: address.scope == .internet
    case .thisDevice: address.scope == .thisDevice
    case .ownNetworks: address.scope != .internet
    case .anywhere: true
    }
  }
}

/// An IPv4 or IPv6 address.
struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
  enum Scope: Sendable { case internet, privateNetwork, thisDevice }

  /// The address in network byte order: 4 or 16 bytes.
  let bytes: [UInt8]

  init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Creates an address from a `sockaddr_in` or `sockaddr_in6`; `nil` for other families.
  init?(socketAddress: UnsafeRawBufferPointer) {
    guard socketAddress.count >= 16 else { return nil }
    let family = Int32(socketAddress.loadUnaligned(as: sa_family_t.self))
    if family == AF_INET {
      bytes = Array(socketAddress[4..<8])
    } else if family == AF_INET6, socketAddress.count >= 24 {
      bytes = Array(socketAddress[8..<24])
    } else {
      return nil
    }
  }

  /// Parses an address in the form that inet_pton(3) accepts.
  init?(_ text: String) {
    var (four, sixteen) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: &four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
      bytes = withUnsafeBytes(of: &sixteen) { Array($0) }
    } else {
      return nil
    }
  }

  /// Returns whether a host is evidently on this device or in a private network: an address in any form that the
  /// system accepts, such as `127.1`, or a name that is none of the internet. Other names have to be resolved.
  static func isPrivate(host: String) -> Bool {
    // libcurl would map other characters to these after the check. Foundation has mapped international names.
    guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return true }
    var host = host.lowercased().trimmingCharacters(in: ["[", "]"])
    while host.hasSuffix(".") { host.removeLast() }
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    var found: UnsafeMutablePointer<addrinfo>?
    defer { freeaddrinfo(found) }
    guard getaddrinfo(host, nil, &hints, &found) == 0, let found = found?.pointee, let address = found.ai_addr else {
      return ShopAddress.isLocalName(host)
    }
    let bytes = UnsafeRawBufferPointer(start: address, count: Int(found.ai_addrlen))
    return NetworkAddress(socketAddress: bytes)?.scope != .internet
  }

  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else {
      return "?"
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Returns whether the address is in a network, given by its first bytes and the prefix length in bits.
  func isIn(_ network: [UInt8], _ length: Int) -> Bool {
    let (whole, rest) = (length / 8, length % 8)
    guard bytes.prefix(whole).elementsEqual(network.prefix(whole)) else { return false }
    return rest == 0 || (bytes[whole] ^ network[whole]) >> (8 - rest) == 0
  }

  /// The scope of the address: loopback, private or special-purpose, or public.
  var scope: Scope {
    guard bytes.count == 16 else { return scopeOfFour }
    // An address that embeds an IPv4 address has the scope of that.
    let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == bytes[11] && [0, 0xFF].contains(bytes[10])
    if isMapped || isIn([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96) {
      if bytes.dropLast().allSatisfy({ $0 == 0 }) { return bytes[15] == 1 ? .thisDevice : .privateNetwork }
      return NetworkAddress(bytes: Array(bytes[12...]))?.scope ?? .privateNetwork
    }
    if isIn([0x20, 0x02], 16) { return NetworkAddress(bytes: Array(bytes[2..<6]))?.scope ?? .privateNetwork }
    // Public addresses begin with the bits 001, except for Teredo and documentation addresses.
    let isPublic = isIn([0x20], 3) && !isIn([0x20, 0x01, 0, 0], 32) && !isIn([0x20, 0x01, 0x0D, 0xB8], 32)
    return isPublic ? .internet : .privateNetwork
  }

  private var scopeOfFour: Scope {
    if bytes[0] == 127 { return .thisDevice }
    return Self.ownNetworks.contains { isIn($0.network, $0.length) } ? .privateNetwork : .internet
  }

  /// IANA's special-purpose networks, without 198.18.0.0/15, from which some VPNs assign an address to every name.
  private static let ownNetworks: [(network: [UInt8], length: Int)] = [
    ([0], 8), ([10], 8), ([100, 64], 10), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24), ([192, 0, 2], 24),
    ([192, 168], 16), ([198, 51, 100], 24), ([203, 0, 113], 24), ([224], 3),
  ]
}
