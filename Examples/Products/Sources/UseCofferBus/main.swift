import CofferBus

let value = BusValue.strings(["night", "day"])
precondition(value.signature == "as" && value.texts == ["night", "day"])
