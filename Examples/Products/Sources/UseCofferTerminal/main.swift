import CofferTerminal

precondition(grouped(1_234_567) == "1,234,567")
