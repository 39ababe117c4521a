package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.bindings.bpf.BpfObject;
import agent.maps.btf.Btf;
import agent.maps.btf.DataSectionLayout;
import agent.maps.btf.ElfObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/** An open BPF object of the default feature set, with access to its load-time constants. */
final class ScenarioObject {
  /** What programs are: those of equal content do the same with the same maps. */
  record Content(ByteBuffer elf, ByteBuffer constants) {}

  private final BpfObject object;
  private final byte[] bytes;
  private final ElfObject elf;

  private ScenarioObject(String name) {
    bytes = read(name);
    elf = ElfObject.parse(bytes);
    object = BpfObject.open(bytes, name);
  }

  static ScenarioObject open(String name) {
    return new ScenarioObject(name);
  }

  BpfObject object() {
    return object;
  }

  /** Returns the bytes of the object file. */
  byte[] elf() {
    return bytes;
  }

  /** Returns the content with the constants as they are now, before the object is loaded. */
  Content content() {
    final byte[] constants = object.rodata().toArray(ValueLayout.JAVA_BYTE);
    return new Content(ByteBuffer.wrap(bytes), ByteBuffer.wrap(constants));
  }

  /**
   * Returns the names of the maps that programs declare: without the constants, the clock, and the
   * programs that they call.
   */
  List<String> mapNames() {
    return object.mapNames().stream()
        .filter(name -> name.indexOf('.') < 0 && !name.equals("nat46_programs"))
        .toList();
  }

  /** Makes the kernel allocate little for tables of flows, which the verifier does not look at. */
  ScenarioObject shrinkConntrack() {
    for (final String map : object.mapNames()) {
      if (map.startsWith("conntrack")) {
        object.setMaxEntries(map, 64);
      }
    }
    return this;
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
