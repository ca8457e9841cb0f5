import Foundation
import Testing

@testable import WatchifyKit

@Suite struct NetworkReaderTests {
  private let zeros = String(repeating: "0", count: 32)

  private func connected(_ type: NetworkMonitor.ConnectionType) -> NetworkState {
    NetworkState(isConnected: true, connectionType: type)
  }
  private let offline = NetworkState(isConnected: false, connectionType: .unknown)

  @Test func kindsOfInterfaces() throws {
    let system = try FakeSystem()
    try system.connect("eth0")
    #expect(system.state == connected(.wired))
    try system.connect("wlan0", type: "wlan")
    #expect(system.state == connected(.wifi))
    try system.connect("wlp2s0")
    try system.write("sys/class/net/wlp2s0/wireless/status", "0")
    #expect(system.state == connected(.wifi))
    try system.connect("wlp3s0")
    try system.write("sys/class/net/wlp3s0/phy80211/index", "0")
    #expect(system.state == connected(.wifi))
    try system.connect("wwp0s20", type: "wwan")
    #expect(system.state == connected(.cellular))
    try system.connect("br0", type: "bridge")
    #expect(system.state == connected(.wired))
  }

  @Test(arguments: [
    ("up", nil, true), ("unknown", nil, true), ("unknown", "1", true), ("unknown", "0", false), ("down", nil, false),
    ("lowerlayerdown", nil, false), ("dormant", nil, false), ("notpresent", nil, false), ("testing", nil, false),
    ("up", "0", true),
  ])
  func statesOfInterfaces(state: String, carrier: String?, isUp: Bool) throws {
    let system = try FakeSystem()
    try system.setRoutes(["tun0 00000000 0001 0 00000000"])
    try system.setInterface("tun0", state, carrier: carrier)
    #expect(system.state == (isUp ? connected(.wired) : offline))
  }

  @Test func onlyADefaultRouteThatIsUsedCounts() throws {
    let system = try FakeSystem()
    try system.setInterface("eth0", "up")
    try system.setInterface("lo", "unknown")
    #expect(system.state == offline)
    for line in [
      "eth0 0000090A 0001 0 00FFFFFF", "eth0 00000000 0001 0 000000FF", "eth0 00000000 0002 0 00000000",
      "eth0 00000000 0201 0 00000000", "lo 00000000 0003 0 00000000", "eth0 x zz y z",
    ] {
      try system.setRoutes([line])
      #expect(system.state == offline, "\(line)")
    }
    try system.setRoutes([])
    for line in [
      "eth0 \(zeros) 40 00000001 00000100", "eth0 fe80\(zeros.dropFirst(4)) 00 00000001 00000100",
      "lo \(zeros) 00 00200200 ffffffff", "lo \(zeros) 00 00000001 00000001", "eth0 \(zeros) 00 00200201 00000400",
      "eth0 \(zeros) 00 00000002 00000400",
    ] {
      try system.setRoutes6([line])
      #expect(system.state == offline, "\(line)")
    }
    try system.setRoutes6(["eth0 \(zeros) 00 00000003 00000400"])
    #expect(system.state == connected(.wired))
  }

  @Test func theLowestMetricSaysTheType() throws {
    let system = try FakeSystem()
    try system.setInterface("wlan0", "up", type: "wlan")
    try system.setInterface("eth0", "up")
    let routes = ["wlan0 00000000 0003 600 00000000", "eth0 00000000 0003 100 00000000"]
    try system.setRoutes(routes)
    #expect(system.state == connected(.wired))
    try system.setInterface("eth0", "down")
    #expect(system.state == connected(.wifi), "a cable that was pulled")
    try system.setInterface("eth0", "up")
    try system.setRoutes([routes[0]])
    try system.setRoutes6(["eth0 \(zeros) 00 00000003 00000064"])
    #expect(system.state == connected(.wired), "0x64 is less than 600")
  }

  @Test func filesThatAreMissing() throws {
    let system = try FakeSystem()
    try system.setRoutes(["eth0 00000000 0003 0 00000000"])
    #expect(system.state == connected(.unknown), "no interface in /sys: the route decides")
    try system.remove("proc/net/ipv6_route")
    #expect(system.state == connected(.unknown))
    try system.remove("proc/net/route")
    #expect(system.state == offline)
    try system.write("proc/net/route", "")
    #expect(system.state == offline)
  }
}
