import CofferTesting
import Foundation

/// An SMTP server with TLS on this device, written in Python, with certificates made by openssl(1).
final class MailServer {
  /// What the server does differently from a good one.
  enum Fault: String {
    case none, noTLS, blocked, refusesRecipient, busy, refusesMessage, silentAfterData
  }

  let port: Int
  let directory: TemporaryDirectory
  private let process = Process()

  /// The certificate to trust.
  var certificate: String { directory.path("certificate.pem") }

  /// Starts a server.
  /// - Parameters:
  ///   - name: the name in its certificate.
  ///   - isExpired: whether the certificate has expired.
  ///   - isImplicit: whether TLS begins at once, as with `smtps`, instead of by STARTTLS.
  init(name: String = "127.0.0.1", isExpired: Bool = false, isImplicit: Bool = false, fault: Fault = .none) throws {
    directory = try TemporaryDirectory()
    try Self.makeCertificate(in: directory, name: name, isExpired: isExpired)
    let script = directory.path("server.py")
    try Data(Self.program.utf8).write(to: URL(fileURLWithPath: script))
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", script, directory.path(""), isImplicit ? "implicit" : "starttls", fault.rawValue]
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.runUnblocked()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw TestFailure("the mail server did not start: \(line)")
    }
    self.port = port
  }

  deinit {
    // A child inherits the blocked signals of the thread that starts it, so that only this one is certain.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// The dialogue with the clients: their lines, and after them the messages.
  func log() throws -> String { try String(contentsOfFile: directory.path("log"), encoding: .utf8) }

  private static func makeCertificate(in directory: TemporaryDirectory, name: String, isExpired: Bool) throws {
    let kind = name.first?.isNumber == true ? "IP" : "DNS"
    let (key, request) = (directory.path("key.pem"), directory.path("request.pem"))
    let extensions = directory.path("extensions")
    try Data("subjectAltName=\(kind):\(name)\n".utf8).write(to: URL(fileURLWithPath: extensions))
    try run([
      "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=\(name)", "-keyout", key, "-out", request,
    ])
    // A certificate that ends on the day before its beginning has expired.
    try run([
      "openssl", "x509", "-req", "-in", request, "-signkey", key, "-days", isExpired ? "-1" : "2", "-extfile",
      extensions, "-out", directory.path("certificate.pem"),
    ])
  }

  private static func run(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.runUnblocked()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestFailure("\(arguments[0]) failed") }
  }

  private static let program = """
    import socket, ssl, sys, base64
    folder, mode, fault = sys.argv[1:4]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/certificate.pem", folder + "/key.pem")
    log = open(folder + "/log", "a", buffering=1)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    def serve(connection):
        secure = mode == "implicit"
        if secure: connection = context.wrap_socket(connection, server_side=True)
        stream = connection.makefile("rwb", buffering=0)
        def say(text): stream.write(text.encode() + b"\\r\\n")
        say("554 blocked" if fault == "blocked" else "220 test ESMTP")
        while True:
            line = stream.readline()
            if not line: return
            line = line.decode().rstrip("\\r\\n")
            log.write(("tls " if secure else "plain ") + line + "\\n")
            word = line.upper()
            if word.startswith("EHLO"):
                say("250-test")
                if not secure and fault != "noTLS": say("250-STARTTLS")
                say("250 AUTH PLAIN")
            elif word == "STARTTLS":
                say("220 go")
                connection = context.wrap_socket(connection, server_side=True)
                stream = connection.makefile("rwb", buffering=0)
                secure = True
            elif word.startswith("AUTH PLAIN"):
                given = line.split(" ")[2] if line.count(" ") > 1 else None
                if given is None:
                    say("334 ")
                    given = stream.readline().decode().strip()
                good = base64.b64decode(given) == b"\\0ada\\0p4ssw0rd"
                say("235 ok" if good else "535 no")
            elif word.startswith("RCPT") and fault == "refusesRecipient": say("550 unknown")
            elif word.startswith("MAIL") and fault == "busy": say("451 later")
            elif word == "DATA":
                say("354 go")
                while True:
                    part = stream.readline()
                    if part in (b".\\r\\n", b""): break
                    log.write("data " + part.decode().rstrip("\\r\\n") + "\\n")
                if fault == "silentAfterData":
                    stream.readline()
                    return
                say("550 spam" if fault == "refusesMessage" else "250 queued")
            elif word == "QUIT":
                say("221 bye")
                return
            else: say("250 ok")
    while True:
        connection, _ = listener.accept()
        connection.settimeout(20)
        try: serve(connection)
        except (OSError, ValueError) as error: log.write("failed " + str(error) + "\\n")
        finally: connection.close()
    """
}
