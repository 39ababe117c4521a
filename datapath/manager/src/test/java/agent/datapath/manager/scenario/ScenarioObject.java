package agent.datapath.manager.scenario;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.bindings.BpfObject;
import agent.maps.btf.Btf;
import agent.maps.btf.DataSectionLayout;
import agent.maps.btf.ElfObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/** An open BPF object of the default feature set, with access to its load-time constants. */
final class ScenarioObject {
  private final BpfObject object;
  private final ElfObject elf;

  private ScenarioObject(String name) {
    final byte[] bytes = read(name);
    elf = ElfObject.parse(bytes);
    object = BpfObject.open(bytes, name);
  }

  static ScenarioObject open(String name) {
    return new ScenarioObject(name);
  }

  BpfObject object() {
    return object;
  }

  /** Returns the memory of one load-time constant; valid until the object is loaded. */
  UnsafeBuffer constant(String variable) {
    final DataSectionLayout.Location location =
        DataSectionLayout.of(elf, Btf.of(elf), ".rodata").variable(variable);
    final MemorySegment memory = object.rodata().asSlice(location.offset(), location.size());
    return new UnsafeBuffer(memory.address(), location.size());
  }

  private static byte[] read(String name) {
    final String path = "/bpf/" + name + ".bpf.o";
    try (InputStream stream = ScenarioObject.class.getResourceAsStream(path)) {
      assertNotNull(stream, path + " is not on the class path");
      return stream.readAllBytes();
    } catch (IOException failure) {
      throw new UncheckedIOException(path, failure);
    }
  }
}
