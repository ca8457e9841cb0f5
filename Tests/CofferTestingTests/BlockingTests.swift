import CofferTestTraits
import Testing

@Suite("Tests that block have threads of their own, also in release mode", .blocking)
struct BlockingTests {
  @Test func synchronous() { #expect(Blocking.isSeparate) }

  @Test func asynchronous() async {
    #expect(Blocking.isSeparate)
    await Task.yield()
    #expect(Blocking.isSeparate)
  }
}
