package agent.benchmarks;

import agent.bindings.BpfObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The object of trivial.bpf.c. */
final class TrivialObject {
  private TrivialObject() {}

  /** The trivial and the varying programs, loaded. */
  static BpfObject load() {
    try (InputStream elf = TrivialObject.class.getResourceAsStream("/bpf/trivial.bpf.o")) {
      final BpfObject object = BpfObject.open(elf.readAllBytes(), "trivial");
      object.load();
      return object;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
