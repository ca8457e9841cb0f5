import Foundation
import WatchifyCCurl

/// A message to be submitted to an SMTP server.
struct MailSubmission: Sendable {
  var url: URL
  var reach: NetworkReach
  var certificates: String?
  var user: String?
  var password: String?
  var sender: String
  var recipients: [String]
  var message: Data
  var deadline: Duration
}

/// The submission of one message with libcurl, which blocks its thread.
final class MailTransfer {
  /// The outcome of a submission.
  struct Result: Sendable {
    /// libcurl's result; 0 if the server has accepted the message, -1 without libcurl.
    var code: Int32
    /// The last reply of the server, such as 550; 0 before the first.
    var status = 0
    /// OpenSSL's result of the verification of the server's certificate.
    var verification = 0
    /// The private address to which no connection was made.
    var forbidden: String?
    /// Whether the whole message was sent.
    var isSent = false
    /// Whether the message may have been accepted without a reply.
    var isUncertain = false
  }

  private let submission: MailSubmission
  private var sent = 0
  private var forbidden: String?
  private var isProxied = false

  init(_ submission: MailSubmission) { self.submission = submission }

  /// Submits the message; returns when the server has replied, or at the deadline.
  func run() -> Result {
    guard let curl = Curl.library, let multi = curl.pointee.multi_init() else { return Result(code: -1) }
    defer { _ = curl.pointee.multi_cleanup(multi) }
    guard let easy = curl.pointee.easy_init() else { return Result(code: -1) }
    defer { curl.pointee.easy_cleanup(easy) }
    var recipients: UnsafeMutableRawPointer?
    defer { curl.pointee.slist_free_all(recipients) }
    for recipient in submission.recipients {
      recipients = curl.pointee.slist_append(recipients, "<\(recipient)>") ?? recipients
    }
    prepare(curl, easy, recipients)
    do { isProxied = try Curl.setProxy(of: easy, to: submission.url, within: submission.reach) } catch {
      return Result(code: 7, forbidden: error.address)
    }
    guard curl.pointee.multi_add_handle(multi, easy) == 0 else { return Result(code: 2) }
    defer { _ = curl.pointee.multi_remove_handle(multi, easy) }
    var result = Result(code: drive(curl, multi))
    result.status = watchify_curl_number(curl, easy, Int32(WATCHIFY_CURLINFO_RESPONSE_CODE))
    result.verification = watchify_curl_number(curl, easy, Int32(WATCHIFY_CURLINFO_SSL_VERIFYRESULT))
    result.forbidden = forbidden
    // Neither a refusal nor an acceptance came.
    result.isSent = sent == submission.message.count
    result.isUncertain = result.code != 0 && result.isSent && result.status < 400
    return result
  }

  /// Runs libcurl until the transfer ends; returns its result, or that of a timeout.
  private func drive(_ curl: UnsafePointer<watchify_curl>, _ multi: UnsafeMutableRawPointer) -> Int32 {
    let end = ContinuousClock.now + submission.deadline
    while true {
      var running: Int32 = 0
      guard curl.pointee.multi_perform(multi, &running) == 0 else { return 2 }
      let result = watchify_curl_result(curl, multi)
      if result >= 0 { return result }
      let rest = end - .now
      guard rest > .zero else { return 28 }
      _ = curl.pointee.multi_poll(multi, nil, 0, min(Int32(clamping: Int(rest / .milliseconds(1))) + 1, 1_000), nil)
    }
  }

  private func prepare(
    _ curl: UnsafePointer<watchify_curl>, _ easy: UnsafeMutableRawPointer, _ recipients: UnsafeMutableRawPointer?
  ) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    func set(_ option: Int, _ number: Int) { _ = watchify_curl_set_number(curl, easy, Int32(option), number) }
    func set(_ option: Int, _ pointer: UnsafeRawPointer?) {
      _ = watchify_curl_set_pointer(curl, easy, Int32(option), pointer)
    }
    func set(_ option: Int, _ text: String) { text.withCString { set(option, UnsafeRawPointer($0)) } }
    set(WATCHIFY_CURLOPT_URL, submission.url.absoluteString)
    set(WATCHIFY_CURLOPT_PROTOCOLS, 1 << 16 | 1 << 17)  // smtp, smtps
    set(WATCHIFY_CURLOPT_USE_SSL, 3)  // required
    set(WATCHIFY_CURLOPT_NOSIGNAL, 1)
    set(WATCHIFY_CURLOPT_CONNECTTIMEOUT_MS, Int(submission.deadline / .milliseconds(1)))
    if let certificates = submission.certificates { set(WATCHIFY_CURLOPT_CAINFO, certificates) }
    if let user = submission.user {
      set(WATCHIFY_CURLOPT_USERNAME, user)
      set(WATCHIFY_CURLOPT_PASSWORD, submission.password ?? "")
    }
    set(WATCHIFY_CURLOPT_MAIL_FROM, "<\(submission.sender)>")
    set(WATCHIFY_CURLOPT_MAIL_RCPT, recipients)
    set(WATCHIFY_CURLOPT_UPLOAD, 1)
    for option in [WATCHIFY_CURLOPT_READDATA, WATCHIFY_CURLOPT_WRITEDATA, WATCHIFY_CURLOPT_OPENSOCKETDATA] {
      set(option, context)
    }
    _ = watchify_curl_set_data(curl, easy, Int32(WATCHIFY_CURLOPT_READFUNCTION), giveMessage)
    _ = watchify_curl_set_data(curl, easy, Int32(WATCHIFY_CURLOPT_WRITEFUNCTION), ignoreBody)
    _ = watchify_curl_set_open(curl, easy, openSocket)
  }

  // MARK: - libcurl's side

  /// Copies the next part of the message; returns 0 at its end.
  fileprivate func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let part = submission.message.dropFirst(sent).prefix(buffer.count)
    part.copyBytes(to: buffer)
    sent += part.count
    return part.count
  }

  fileprivate func mayConnect(to address: NetworkAddress?) -> Bool {
    if isProxied { return true }
    if let address, submission.reach.includes(address) { return true }
    forbidden = address?.description ?? "no internet address"
    return false
  }
}

// MARK: - Functions that libcurl calls

private nonisolated func transfer(_ context: UnsafeMutableRawPointer?) -> MailTransfer? {
  context.map { Unmanaged<MailTransfer>.fromOpaque($0).takeUnretainedValue() }
}

private nonisolated func giveMessage(
  bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
  transfer(context)?.give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private nonisolated func ignoreBody(
  bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int { size * count }

private nonisolated func openSocket(
  context: UnsafeMutableRawPointer?, purpose: Int32, address: UnsafeMutablePointer<watchify_curl_address>?
) -> Int32 {
  guard let address, let transfer = transfer(context) else { return -1 }
  return Curl.socket(to: address, if: transfer.mayConnect)
}
