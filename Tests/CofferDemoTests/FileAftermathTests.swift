import CofferTestTraits
import Foundation
import Testing

@testable import CofferDemo

/// Tests of the counts for five files after a kill, including states that a run cannot provoke.
@Suite(.blocking) struct FileAftermathTests {
  @Test(arguments: [([2, 2, 2, 2, 2], true), ([3, 3, 3, 3, 3], true), ([0, 0, 0, 0, 0], false)])
  func oneWholeBatchNotOlderThanTheLastConfirmed(_ versions: [Int], _ isFine: Bool) {
    var aftermath = FileAftermath()
    aftermath.judge(versions, begun: 3, acknowledged: 2)
    #expect(aftermath.half == 0 && aftermath.torn == 0)
    #expect(aftermath.lost == (isFine ? 0 : 5))
  }

  @Test func aMixtureIsHalfABatch() {
    var aftermath = FileAftermath()
    aftermath.judge([3, 3, 2, 2, 2], begun: 3, acknowledged: 2)
    #expect(aftermath.half == 1 && aftermath.lost == 0 && aftermath.torn == 0)
  }

  @Test func bytesOfNoBatchAreTornAndLost() {
    var aftermath = FileAftermath()
    let batches = (0...3).map { batch in (0..<5).map { Data("\(batch).\($0)".utf8) } }
    let values = [batches[3][0], nil, Data("3.".utf8), batches[3][3], batches[3][4]]
    let versions = aftermath.versions(values, batches)
    #expect(versions == [3, nil, nil, 3, 3])
    aftermath.judge(versions, begun: 3, acknowledged: 2)
    #expect(aftermath.half == 1 && aftermath.lost == 2 && aftermath.torn == 2)
  }
}
