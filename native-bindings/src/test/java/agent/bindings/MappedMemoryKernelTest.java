package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.testkit.KernelTest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

@KernelTest
class MappedMemoryKernelTest {
  @Test
  void shouldShareAnArrayWithTheKernel() {
    final int fd =
        MapCalls.create(MapSpec.of(MapType.ARRAY, "mapped", 4, 8, 1000, MapFlag.MMAPABLE));
    try (MappedMemory mapping = MappedMemory.map(fd, 0, 8000, true);
        Arena arena = Arena.ofConfined()) {
      final MemorySegment key = arena.allocateFrom(JAVA_INT, 999);
      final MemorySegment value = arena.allocate(JAVA_LONG);
      mapping.segment().setAtIndex(JAVA_LONG, 999, 4711L);
      assertEquals(0, MapCalls.lookup(fd, key, value));
      assertEquals(4711L, value.get(JAVA_LONG, 0));
      value.set(JAVA_LONG, 0, 12L);
      assertEquals(0, MapCalls.update(fd, key, value, MapFlag.ANY));
      assertEquals(12L, mapping.segment().getAtIndex(JAVA_LONG, 999));
    } finally {
      Descriptors.close(fd);
    }
  }

  @Test
  void shouldNameTheErrorOfAMapThatCannotBeMapped() {
    final int fd = MapCalls.create(MapSpec.of(MapType.HASH, "unmapped", 4, 8, 10, 0));
    try {
      final BindingsException failure =
          assertThrows(BindingsException.class, () -> MappedMemory.map(fd, 0, 80, true));
      assertEquals(Errno.ENOTSUPP, failure.errno());
    } finally {
      Descriptors.close(fd);
    }
  }
}
