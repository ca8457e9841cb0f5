#if os(Linux)
  import WatchifyCMicrohttpd

  /// The steps of an exchange, called by libmicrohttpd.
  extension Exchange {
    /// Handles the head of a request.
    func begin(method: String, version: String) -> MHD_Result {
      hasBegun = true
      self.method = method
      let problem = readHeaders(version: version)
      if let problem { return send(.refusal(400, problem)) }
      if let text = declaredLength, Int(text).map({ $0 > loop.limits.bodyBytes }) ?? true {
        return send(.refusal(413, "The body of the request is larger than \(loop.limits.bodyBytes) bytes."))
      }
      return .YES
    }

    /// Handles a part of the body. What exceeds the limit is dropped, up to as much again, so that a client that sends
    /// its whole body before it reads receives the response.
    func receive(_ bytes: UnsafeRawBufferPointer) -> MHD_Result {
      if body.count + bytes.count <= loop.limits.bodyBytes, excess == 0 {
        body += bytes
        return .YES
      }
      body = []
      excess += bytes.count
      return excess <= max(loop.limits.bodyBytes, 64 << 10) ? .YES : .NO
    }

    /// Starts the handler after the body has arrived, and sends the response after the handler has returned.
    func proceed() -> MHD_Result {
      guard !isAbandoned else { return .NO }
      if let response {
        self.response = nil
        return send(response)
      }
      if excess > 0 {
        return send(.refusal(413, "The body of the request is larger than \(loop.limits.bodyBytes) bytes."))
      }
      if loop.isDraining { return send(.refusal(503, "The server is stopping.")) }
      let request = HTTPRequest(
        method, target, headers: headers, body: body, peer: ServerLoop.peer(of: connection), isSecure: loop.isSecure)
      (headers, body) = ([], [])
      return loop.handle(request, for: self) ? .YES : .NO
    }

    private var declaredLength: String? { headers.first { $0.name.lowercased() == "content-length" }?.value }

    /// Collects the header fields. Returns what is wrong with them: in particular, no two servers in a row may disagree
    /// on where the body ends (RFC 9112, 6.1 and 6.3).
    private func readHeaders(version: String) -> String? {
      MHD_get_connection_values_n(
        connection, MHD_ValueKind.HEADER_KIND, collectHeader, Unmanaged.passUnretained(self).toOpaque())
      // The last field and the empty line end with CR LF each.
      if headStart + UInt(coffer_mhd_head_size(connection)) != lineEnd + 4 { hasOddLines = true }
      // RFC 9112, 2.2 and 5.2: a proxy may read such lines in another way.
      if hasOddLines { return "A line of the head is folded, contains a zero byte or does not end with CR LF." }
      var lengths: [String] = []
      var codings: [String] = []
      var hosts: [String] = []
      for (name, value) in headers {
        if value.utf8.contains(0) || name.utf8.contains(0) { return "A header field contains a zero byte." }
        // RFC 9112, 5.1: a proxy may read "Content-Length :" as a length, or not.
        guard name.utf8.allSatisfy(\.isTokenCharacter) else { return "The name of a header field is invalid." }
        switch name.lowercased() {
        case "content-length": lengths.append(value)
        case "host": hosts.append(value.lowercased())
        case "transfer-encoding": codings.append(value.lowercased())
        default: break
        }
      }
      // RFC 9112, 3.2. Only earlier versions may omit it.
      guard hosts.count == 1 || hosts.isEmpty && version != "HTTP/1.1" else {
        return "The request needs one field Host."
      }
      // A proxy would go by the one, and a handler by the other.
      if let authority = HTTPRequest.authority(of: target), hosts != [authority.lowercased()] {
        return "The request target names another host than the field Host."
      }
      if let first = lengths.first {
        let isNumber = !first.isEmpty && first.utf8.allSatisfy { (48...57).contains($0) }
        if lengths.count > 1 || !isNumber || !codings.isEmpty { return "The length of the body is ambiguous." }
      }
      // RFC 9112, 6.1: a proxy of HTTP/1.0 does not know the coding, and so another end of the request.
      guard codings.isEmpty || version == "HTTP/1.1" else { return "A transfer coding needs HTTP/1.1." }
      return codings.isEmpty || codings == ["chunked"] ? nil : "The transfer coding is not supported."
    }

    /// Queues a response.
    private func send(_ response: HTTPResponse) -> MHD_Result {
      guard let problem = response.problem else { return queue(response) }
      return queue(HTTPResponse(500, "text/plain; charset=utf-8", problem))
    }

    private func queue(_ response: HTTPResponse) -> MHD_Result {
      let reply: OpaquePointer?
      switch response.body {
      case .abort(let abort):
        if abort == .reset { coffer_reset(socket) }
        return .NO
      case .bytes(var bytes):
        reply = bytes.withUnsafeMutableBytes {
          MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
        }
      case .stream(let length, let stream):
        self.stream = stream
        // Without a length, libmicrohttpd writes into the buffer of the connection and does not use this one.
        let size = length.map { UInt64($0) } ?? UInt64.max
        reply = MHD_create_response_from_callback(
          size, length == nil ? 1 << 10 : 16 << 10, readBody, Unmanaged.passRetained(self).toOpaque(), releaseBody)
      }
      guard let reply else { return .NO }
      defer { MHD_destroy_response(reply) }
      for (name, value) in response.headers where !HTTPResponse.framing.contains(name.lowercased()) {
        MHD_add_response_header(reply, name, value)
      }
      if loop.isDraining, response.header("Connection") == nil { MHD_add_response_header(reply, "Connection", "close") }
      return MHD_queue_response(connection, UInt32(response.status), reply)
    }
  }

  extension UInt8 {
    /// Whether the byte may be in the name of a header field (RFC 9110, 5.6.2).
    fileprivate var isTokenCharacter: Bool {
      switch self {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "!#$%&'*+-.^_`|~".utf8.contains(self)
      }
    }
  }
#endif

extension HTTPResponse {
  /// The header fields that the server sets, in lower case.
  static let framing = ["content-length", "transfer-encoding"]

  /// A response to a request that is not understood, after which the connection ends.
  static func refusal(_ status: Int, _ text: String) -> HTTPResponse {
    HTTPResponse(status, "text/plain; charset=utf-8", text).with("Connection", "close")
  }

  /// Why the response cannot be sent; `nil` if it can. A line break in a header field would let whoever provided the
  /// text add fields or a second response.
  var problem: String? {
    if case .abort = body { return nil }
    if case .stream(let length?, _) = body, length < 0 { return "The response has a negative length." }
    guard (200...999).contains(status) else { return "The response has no valid status." }
    for (name, value) in headers {
      let isToken =
        !name.isEmpty
        && name.utf8.allSatisfy { byte in
          (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      guard isToken, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        return "The response has a header field with invalid characters."
      }
    }
    return nil
  }
}
