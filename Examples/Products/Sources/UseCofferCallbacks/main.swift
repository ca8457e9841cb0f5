import CofferCallbacks
import Dispatch

let storage = EngineKeyValueStorage(engine: MemoryEngine())
let done = DispatchSemaphore(value: 0)
storage.store(value: Bytes("night".utf8), for: "theme") { @Sendable error in
  if let error { print("not stored: \(error)") }
}
storage.retrieve(for: "theme") { @Sendable value, error in
  precondition(value == Bytes("night".utf8) && error == nil)
  done.signal()
}
done.wait()
