import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

#if os(Linux)
  @Suite(.serialized, .blocking) struct ForkTests {
    @Test("A process and its two forked children use different salts, nonces and random bytes")
    func salts() throws {
      let count = 400  // more than the pool holds
      let helper = try HelperProcess(["fork-salts", "\(count)"])
      let lines = try helper.lines()
      #expect(lines.last == "done")
      let values = lines.dropLast()
      #expect(values.count == 3 * (3 * count + 1))
      #expect(Set(values).count == values.count)
      #expect(helper.wait() == 0)
    }
  }
#endif
