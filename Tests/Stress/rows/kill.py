"""An acknowledged durable set survives SIGKILL."""
import signal
import time

from rows.proofs import ENGINES, Broken, check_modes, read_store


# proves: G1, G4, G72
def prove(proofs, folder):
    rounds = proofs.size(50, 500)
    writes = 0
    for engine in ENGINES:
        path = f"{folder}/store.{engine}"
        acknowledged = 0
        for _ in range(rounds):
            process = proofs.start("save", path, acknowledged + 1, proofs.random.choice((10, 1000, 60000)))
            time.sleep(proofs.random.uniform(0.005, 0.04))
            process.send_signal(signal.SIGKILL)
            lines = [line for line in process.stdout.read().split("\n")[:-1]]
            process.wait()
            if lines:
                writes += len(lines)
                acknowledged = int(lines[-1])
            check_modes(folder)
            found = read_store(path)
            number = found.get("number", 0)
            if not acknowledged <= number <= acknowledged + 1:
                raise Broken(f"{engine}: {acknowledged} was acknowledged, {number} is stored")
            if found and found["square"] != number * number:
                raise Broken(f"{engine}: half of a transaction is stored")
            acknowledged = number
    return f"{rounds * 2} kills, {writes} acknowledged writes"
