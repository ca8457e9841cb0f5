import CofferCPostgreSQL

/// Looks at what a server asks for before libpq answers it: libpq 15 sends a password to any server in any form.
struct AuthenticationGate {
  enum Verdict {
    case allowed
    case refused
    /// Nothing has arrived.
    case incomplete
  }

  private let methods: Set<AuthenticationMethod>
  /// Whether the server has begun SCRAM, and whether it has proven that it knows the password. libpq checks the proof
  /// before it answers anything that follows.
  private var (hasBegun, isProven) = (false, false)
  private var used: AuthenticationMethod?
  private var isOver = false
  /// The number of bytes of the last judged request that have not arrived.
  private var pending = 0

  init(allowing methods: Set<AuthenticationMethod>) { self.methods = methods }

  /// Discards the state of the previous connection: after a wrong password, libpq may connect again without TLS.
  mutating func beginAnew() { self = AuthenticationGate(allowing: methods) }

  /// Judges all that has arrived. If it is allowed, nothing more arrives until `coffer_pq_let_in` is called: libpq
  /// would read it, too. With TLS it reads one record at a time, which is what this has seen. libpq has room for as
  /// much as this looks at, and no server sends so much before it is answered.
  mutating func look(at handle: OpaquePointer) -> Verdict {
    guard !isOver else { return .allowed }
    let socket = pq_socket(handle)
    let isEncrypted = pq_sslInUse(handle) != 0
    if !isEncrypted, coffer_pq_keep_out(socket) != 0 { return .refused }
    var bytes = [UInt8](repeating: 0, count: 8 << 10)
    let count = Int(coffer_pq_peek(handle, &bytes, Int32(bytes.count)))
    // The end of the connection, or an error of TLS, is libpq's.
    guard count != 0 else { return .allowed }
    let isOffer = pq_status(handle) == CONNECTION_SSL_STARTUP
    var verdict = Verdict.incomplete
    if count == bytes.count {
      verdict = .refused
    } else if count > 0 {
      verdict = isOffer ? judgeOffer(bytes[..<count]) : judge(bytes[..<count])
    }
    // libpq accepts TLS at once, and refuses itself what came before that. The answer of the server is not kept out.
    let startsTLS = isOffer && bytes[0] == UInt8(ascii: "S")
    if verdict != .allowed || startsTLS, !isEncrypted { coffer_pq_let_in(socket) }
    return verdict
  }

  /// Judges the answer whether the server offers TLS. What followed it would be in libpq before it can be looked at.
  mutating func judgeOffer(_ bytes: ArraySlice<UInt8>) -> Verdict {
    isOver = bytes.first == UInt8(ascii: "E")
    return isOver || bytes.count == 1 ? .allowed : .refused
  }

  /// Judges messages: "Message Formats" in PostgreSQL's manual. An error ends the session.
  mutating func judge(_ bytes: ArraySlice<UInt8>) -> Verdict {
    var rest = bytes.dropFirst(pending)
    pending -= min(pending, bytes.count)
    while let kind = rest.first, !isOver {
      if kind == UInt8(ascii: "E") {
        isOver = true
        return .allowed
      }
      // The beginning of a request is not waited for: it is sent as a whole, and what has arrived would wake the loop
      // again and again.
      guard kind == UInt8(ascii: "R"), rest.count >= 9 else { return .refused }
      let words = Array(rest.dropFirst().prefix(8))
      func number(_ start: Int) -> Int { words[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) } }
      // The limits of libpq.
      guard (8...2_000).contains(number(0)), allows(number(4)) else { return .refused }
      pending = max(0, 1 + number(0) - rest.count)
      rest = rest.dropFirst(1 + number(0))
    }
    return .allowed
  }

  private mutating func allows(_ request: Int) -> Bool {
    switch request {
    case 0:
      isOver = true
      return isProven || used != nil || methods.contains(.none)
    case 3: used = .password
    case 5: used = .md5
    case 10:
      defer { hasBegun = true }
      return methods.contains(.scram) && !hasBegun
    case 11: return hasBegun && !isProven
    case 12:
      defer { isProven = true }
      return hasBegun
    default: return false
    }
    return used.map(methods.contains) ?? false
  }
}
