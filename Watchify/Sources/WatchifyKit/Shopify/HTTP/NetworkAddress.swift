import Foundation

/// Which addresses a request may go to.
enum NetworkReach: Sendable {
  /// Those that everybody can ask.
  case internet
  /// This very device.
  case thisDevice
  /// Any: somebody has given a name of their own network.
  case anywhere

  func includes(_ address: NetworkAddress) -> Bool {
    switch self {
    case .internet: address.scope == .internet
    case .thisDevice: address.scope == .thisDevice
    case .anywhere: true
    }
  }
}

/// An IPv4 or IPv6 address, and how far away it is.
struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
  enum Scope: Sendable { case internet, privateNetwork, thisDevice }

  /// 4 or 16.
  let bytes: [UInt8]

  init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// A `sockaddr_in` or `sockaddr_in6`.
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

  /// An address in the form that the system writes.
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

  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else {
      return "?"
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Whether its first bits, so many of them, are those of a network. The other ones of `network` may be left out.
  func isIn(_ network: [UInt8], _ length: Int) -> Bool {
    let (whole, rest) = (length / 8, length % 8)
    guard bytes.prefix(whole).elementsEqual(network.prefix(whole)) else { return false }
    return rest == 0 || (bytes[whole] ^ network[whole]) >> (8 - rest) == 0
  }

  /// How far away it is.
  var scope: Scope {
    guard bytes.count == 16 else { return scopeOfFour }
    // Those that have an IPv4 address inside lead there.
    let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == bytes[11] && [0, 0xFF].contains(bytes[10])
    if isMapped || isIn([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96) {
      if bytes.dropLast().allSatisfy({ $0 == 0 }) { return bytes[15] == 1 ? .thisDevice : .privateNetwork }
      return NetworkAddress(bytes: Array(bytes[12...]))?.scope ?? .privateNetwork
    }
    if isIn([0x20, 0x02], 16) { return NetworkAddress(bytes: Array(bytes[2..<6]))?.scope ?? .privateNetwork }
    // Everybody's addresses begin with the bits 001; Teredo and examples are among them, and nobody's.
    let isPublic = isIn([0x20], 3) && !isIn([0x20, 0x01, 0, 0], 32) && !isIn([0x20, 0x01, 0x0D, 0xB8], 32)
    return isPublic ? .internet : .privateNetwork
  }

  private var scopeOfFour: Scope {
    if bytes[0] == 127 { return .thisDevice }
    return Self.ownNetworks.contains { isIn($0.network, $0.length) } ? .privateNetwork : .internet
  }

  /// IANA's special purposes. 198.18.0.0/15 is not among them: some VPNs give every name an address from it.
  private static let ownNetworks: [(network: [UInt8], length: Int)] = [
    ([0], 8), ([10], 8), ([100, 64], 10), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24), ([192, 0, 2], 24),
    ([192, 168], 16), ([198, 51, 100], 24), ([203, 0, 113], 24), ([224], 3),
  ]
}
