package agent.benchmarks;

import agent.bindings.bpf.BpfObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Opens the object of trivial.bpf.c. */
public final class TrivialObject {
  private TrivialObject() {}

  /** Loads the trivial and the varying programs. */
  public static BpfObject load() {
    try (InputStream elf = TrivialObject.class.getResourceAsStream("/bpf/trivial.bpf.o")) {
      final BpfObject object = BpfObject.open(elf.readAllBytes(), "trivial");
      object.load();
      return object;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
