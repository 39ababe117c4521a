package agent.benchmarks;

import agent.bindings.BpfObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The BPF objects that the benchmarks load by themselves. */
final class Objects {
  private Objects() {}

  /** The trivial and the varying programs, loaded. */
  static BpfObject trivial() {
    try (InputStream elf = Objects.class.getResourceAsStream("/bpf/trivial.bpf.o")) {
      final BpfObject object = BpfObject.open(elf.readAllBytes(), "trivial");
      object.load();
      return object;
    } catch (final IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
