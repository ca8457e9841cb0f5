import CofferTesting
import Foundation

/// A server that ends TLS in front of a plain one, with a certificate of the test's own authority.
final class TLSFront {
  /// What the certificate is like.
  enum Certificate: String, CaseIterable {
    case valid, expired, notYetValid, wrongName, selfSigned, unknownIssuer
  }

  private let helper: Process
  private let directory: TemporaryDirectory
  private(set) var port = 0
  /// The file with the certificate of the authority.
  let authorities: URL

  /// Makes an authority and a certificate, and listens on a free port of this device.
  init(_ certificate: Certificate, forwardingTo target: Int) throws {
    directory = try TemporaryDirectory()
    helper = Process()
    authorities = URL(fileURLWithPath: directory.path("authority.pem"))
    try Self.run(directory, Self.script(certificate))
    let output = Pipe()
    helper.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    helper.arguments = ["-c", Self.server, directory.path("chain.pem"), directory.path("key.pem"), String(target)]
    helper.standardOutput = output
    try helper.runUnblocked()
    // Its only line is the port.
    let line = output.fileHandleForReading.availableData
    guard let port = Int(String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw TestFailure("no port")
    }
    self.port = port
  }

  // Not `terminate()`: the signal is blocked on the thread of a test, and then in the helper as well.
  deinit { if helper.isRunning { kill(helper.processIdentifier, SIGKILL) } }

  private static func run(_ directory: TemporaryDirectory, _ script: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-ec", script]
    process.currentDirectoryURL = directory.url
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.runUnblocked()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestFailure("openssl(1) failed") }
  }

  /// `openssl ca` sets any dates; `openssl req` and `openssl x509` of version 3.0 do not.
  private static func script(_ certificate: Certificate) -> String {
    let name = certificate == .wrongName ? "other.localhost" : "tarn.localhost"
    let dates =
      switch certificate {
      case .expired: "-startdate 20200101000000Z -enddate 20200201000000Z"
      case .notYetValid: "-startdate 20900101000000Z -enddate 20910101000000Z"
      default: "-startdate 20200101000000Z -enddate 20900101000000Z"
      }
    let last =
      certificate == .selfSigned
      ? "openssl req -x509 -key key.pem -subj /CN=\(name) -addext subjectAltName=DNS:\(name) -days 9 -out chain.pem"
      : "cat leaf.pem ca.pem >chain.pem"
    let trusted = certificate == .unknownIssuer ? "other.pem" : "ca.pem"
    return """
      new() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -days 9 \
        -keyout "$2.key" -out "$2.pem"; }
      new 'Test authority' ca
      new 'Other authority' other
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=\(name) -keyout key.pem -out leaf.csr
      : >index.txt; echo 01 >serial
      printf '%s\\n' '[ca]' 'default_ca=d' '[d]' 'database=index.txt' 'serial=serial' 'new_certs_dir=.' \
        'default_md=sha256' 'policy=p' 'x509_extensions=e' '[p]' 'commonName=supplied' '[e]' \
        'subjectAltName=DNS:\(name)' >ca.conf
      openssl ca -batch -config ca.conf -cert ca.pem -keyfile ca.key -in leaf.csr -out leaf.pem -notext \(dates)
      cp \(trusted) authority.pem
      \(last)
      """
  }

  private static let server = """
    import socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    def copy(source, target):
        try:
            while data := source.recv(65536): target.sendall(data)
        except OSError: pass
        for end in (source, target):
            try: end.shutdown(socket.SHUT_RDWR)
            except OSError: pass
    def serve(plain):
        try: secure = context.wrap_socket(plain, server_side=True)
        except OSError: return
        inner = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
        threading.Thread(target=copy, args=(inner, secure), daemon=True).start()
        copy(secure, inner)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """
}
