import CofferCore
import CofferEncryption
import Foundation

/// Runs a command that seals envelopes, or returns `false` for another command.
func runOnEnvelopes(_ command: String, _ count: String) throws -> Bool {
  guard command == "fork-salts", let count = Int(count) else { return false }
  let key = try DataKey.random()
  try saySalts(key, count: 1)  // so that the children inherit a pool that is in use
  // Swift does not import it, since a child of a process with threads may call few functions.
  guard let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork") else { throw Usage() }
  let fork = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
  var children: [pid_t] = []
  for _ in 0..<2 {
    let child = fork()
    if child == 0 {
      let isDone = (try? saySalts(key, count: count)) != nil
      _exit(isDone ? 0 : 1)
    }
    children.append(child)
  }
  try saySalts(key, count: count)
  for child in children {
    var status: Int32 = -1
    guard waitpid(child, &status, 0) == child, status == 0 else { throw Usage() }
  }
  say("done")
  return true
}

/// Prints the salts of new envelopes and nonces of sealed messages, one on each line.
private func saySalts(_ key: DataKey, count: Int) throws {
  let context = EnvelopeContext(store: Data(count: 16), key: "user/token")
  let aead = try AEAD(.aes256GCM, key: .random(count: 32))
  for _ in 0..<count {
    let envelope = try Envelope.seal(Data(), under: key, context: context, algorithm: .aes256GCM, isPadded: false)
    say("salt " + envelope[8..<32].base64EncodedString())
    say("nonce " + (try aead.seal(Data(), authenticating: Data())).prefix(12).base64EncodedString())
    say("random " + (try randomBytes(100)).prefix(24).base64EncodedString())
  }
}
