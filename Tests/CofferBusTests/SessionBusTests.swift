import CofferBus
import CofferTestSupport
import CofferTestTraits
import Testing

@Suite(.blocking) struct SessionBusTests {
  @Test func nothingIsStartedToFindABus() throws {
    #expect(throws: SessionBus.Absence.startsSomething(address: "autolaunch:")) { try SessionBus.usable("autolaunch:") }
    let starters = "unixexec:path=/bin/true;autolaunch:scope=*user"
    #expect(throws: SessionBus.Absence.self) { try SessionBus.usable(starters) }
    #expect(throws: SessionBus.Absence.self) { try SessionBus.address { _ in starters } }
    #expect(try SessionBus.usable("autolaunch:;unix:path=/x") == "unix:path=/x")
    #expect(try SessionBus.usable("unixexec:path=/bin/x;unix:path=/a;autolaunch:") == "unix:path=/a")
  }

  @Test func theEnvironmentComesFirst() throws {
    #expect(try SessionBus.address { $0 == "XDG_RUNTIME_DIR" ? "/x" : "unix:path=/y" } == "unix:path=/y")
    #expect(throws: SessionBus.Absence.notNamed) { try SessionBus.address { _ in nil } }
    #expect(throws: SessionBus.Absence.notNamed) { try SessionBus.address { _ in "" } }
    #expect(throws: SessionBus.Absence.noSocket(path: "/nowhere/bus")) {
      try SessionBus.address { $0 == "XDG_RUNTIME_DIR" ? "/nowhere" : nil }
    }
  }

  @Test(.enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed"))
  func thenTheSocketOfSystemd() throws {
    let bus = try PrivateBus(in: "a bus; of ~ours=é")
    let address = try SessionBus.address { $0 == "XDG_RUNTIME_DIR" ? bus.runtimeDirectory : "" }
    #expect(address.hasSuffix("a%20bus%3b%20of%20%7eours%3d%c3%a9/bus"), "\(address)")
    #expect(try BusConnection(address: address, timeout: .seconds(10)).busIdentifier().count == 32)
  }

  @Test func theSystemBusHasAnAddressOfItsOwn() throws {
    #expect(try SystemBus.address { _ in nil } == SystemBus.defaultAddress)
    #expect(try SystemBus.address { $0 == "DBUS_SYSTEM_BUS_ADDRESS" ? "" : "unix:path=/s" } == SystemBus.defaultAddress)
    #expect(try SystemBus.address { $0 == "DBUS_SYSTEM_BUS_ADDRESS" ? "unix:path=/y" : nil } == "unix:path=/y")
    #expect(throws: SessionBus.Absence.self) { try SystemBus.address { _ in "unixexec:path=/bin/true" } }
  }
}
