import CofferCPostgreSQL

/// Looks at what a server asks for before libpq answers it: libpq 15 sends a password to any server in any form.
struct AuthenticationGate {
  enum Verdict {
    case allowed
    case refused
    /// Nothing, or only a part of a request, has arrived.
    case incomplete
  }

  private let methods: Set<AuthenticationMethod>
  /// Whether the server has begun SCRAM, and whether it has proven that it knows the password. libpq checks the proof
  /// before it answers anything that follows.
  private var (hasBegun, isProven) = (false, false)
  private var used: AuthenticationMethod?
  private var isOver = false

  init(allowing methods: Set<AuthenticationMethod>) { self.methods = methods }

  /// Judges all that has arrived. If it is allowed, nothing more arrives until `coffer_pq_let_in` is called: libpq
  /// would read it, too. With TLS it reads one record at a time, which is what this has seen.
  mutating func look(at handle: OpaquePointer) -> Verdict {
    guard !isOver else { return .allowed }
    let socket = PQsocket(handle)
    let isEncrypted = PQsslInUse(handle) != 0
    if !isEncrypted, coffer_pq_keep_out(socket) != 0 { return .refused }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let count = Int(coffer_pq_peek(handle, &bytes, Int32(bytes.count)))
    // The end of the connection, or an error of TLS, is libpq's.
    guard count != 0 else { return .allowed }
    let verdict = count < 0 ? .incomplete : judge(bytes[..<count])
    if verdict != .allowed, !isEncrypted { coffer_pq_let_in(socket) }
    // The rest of a request that is divided among records cannot be seen.
    return verdict == .incomplete && isEncrypted && count > 0 ? .refused : verdict
  }

  /// Judges messages: "Message Formats" in PostgreSQL's manual.
  mutating func judge(_ bytes: ArraySlice<UInt8>) -> Verdict {
    var rest = bytes
    while let kind = rest.first, !isOver {
      guard kind == UInt8(ascii: "R") else { return .allowed }
      guard rest.count >= 9 else { return .incomplete }
      let words = Array(rest.dropFirst())
      func number(_ start: Int) -> UInt32 { words[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
      guard number(0) >= 8, allows(number(4)) else { return .refused }
      rest = rest.dropFirst(1 + Int(number(0)))
    }
    return .allowed
  }

  private mutating func allows(_ request: UInt32) -> Bool {
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
