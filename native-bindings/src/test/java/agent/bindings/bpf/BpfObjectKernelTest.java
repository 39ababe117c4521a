package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.TestObjects;
import agent.testkit.KernelTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

@KernelTest
class BpfObjectKernelTest {
  private static final byte[] PACKET = new byte[64];

  static final String REFUSED =
      """
      SEC("tc") int unchecked_access(struct __sk_buff *skb)
      {
        return *(__u8 *)(long)skb->data;
      }
      """;

  private static final String COUNTER =
      """
      struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __type(key, __u32);
        __type(value, __u64);
        __uint(max_entries, 4);
      } numbers SEC(".maps");
      struct inner {
        __uint(type, BPF_MAP_TYPE_HASH);
        __type(key, __u32);
        __type(value, __u64);
        __uint(max_entries, 9);
      };
      struct {
        __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
        __type(key, __u32);
        __uint(max_entries, 3);
        __array(values, struct inner);
      } outer SEC(".maps");
      SEC("tc") int count(struct __sk_buff *skb)
      {
        __u32 key = 0;
        __u64 *number = bpf_map_lookup_elem(&numbers, &key);
        if (number) __sync_fetch_and_add(number, 1);
        return bpf_map_lookup_elem(&outer, &key) != 0;
      }
      SEC("xdp") int other(struct xdp_md *context) { return XDP_PASS; }
      """;

  @BeforeAll
  static void load() {
    LibBpf.ensureLoaded();
  }

  @Test
  void shouldRunWithTheConstantsThatWereSetBeforeLoad() {
    final byte[] elf = TestObjects.compile(TestObjects.LENGTH_OR_CONSTANT);
    try (BpfObject object = BpfObject.open(elf, "constants");
        ProgramTestRun run = new ProgramTestRun(PACKET.length)) {
      object.rodata().set(JAVA_INT, 0, 77);
      object.load();
      assertEquals(0, run.run(object.program("length_or_constant"), PACKET.length, 0, 1));
      assertEquals(77, run.returnValue());
    }
  }

  @Test
  void shouldReuseAnExistingMap() {
    final int fd = MapCalls.create(MapSpec.of(MapType.ARRAY, "numbers", 4, 8, 4, 0));
    try (BpfObject object = BpfObject.open(TestObjects.compile(COUNTER), "counter")) {
      object.reuseMap("numbers", fd);
      object.load();
      assertEquals(MapDescription.of(fd).id(), MapDescription.of(object.mapFd("numbers")).id());
    } finally {
      Descriptors.close(fd);
    }
  }

  @Test
  void shouldDescribeWhatTheObjectDeclares() {
    try (BpfObject object = BpfObject.open(TestObjects.compile(COUNTER), "counter")) {
      assertEquals(List.of("numbers", "outer"), object.mapNames());
      final MapSpec numbers = MapSpec.of(MapType.ARRAY, "numbers", 4, 8, 4, 0);
      assertTrue(object.maps().contains(numbers), object.maps().toString());
      final MapSpec outer =
          object.maps().stream()
              .filter(map -> map.name().equals("outer"))
              .findFirst()
              .orElseThrow();
      assertEquals("hash, key 4 bytes, value 8 bytes, 9 entries, flags 0x0", outer.inner().shape());
      assertThrows(BindingsException.class, object::rodata);
      assertThrows(BindingsException.class, () -> object.program("nothing"));
    }
  }

  @Test
  void shouldApplyCapacity() {
    try (BpfObject object = BpfObject.open(TestObjects.compile(COUNTER), "counter")) {
      object.setMaxEntries("numbers", 5);
      object.load();
      final MapDescription numbers = MapDescription.of(object.mapFd("numbers"));
      assertEquals(5, numbers.maxEntries());
    }
  }

  @Test
  void shouldReportTheLastLinesOfTheVerifierLog() {
    final byte[] elf = TestObjects.compile(REFUSED);
    try (BpfObject object = BpfObject.open(elf, "refused")) {
      final LoadException failure = assertThrows(LoadException.class, object::load);

      assertEquals(Errno.EACCES, failure.errno());
      assertTrue(failure.log().contains("unchecked_access"), failure::log);
      assertTrue(failure.log().contains("invalid access to packet"), failure::log);
      assertEquals(
          "load object refused (R1 offset is outside of the packet): EACCES", failure.getMessage());
    }
  }

  @Test
  void shouldRefuseBytesThatAreNotAnObject() {
    final LoadException failure =
        assertThrows(LoadException.class, () -> BpfObject.open(new byte[100], "nonsense"));

    assertTrue(failure.getMessage().startsWith("open object nonsense"), failure::getMessage);
  }

  @Test
  void shouldWriteNothingToStandardError() throws Exception {
    final Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                RefusedLoad.class.getName())
            .start();
    final String output = new String(process.getInputStream().readAllBytes());
    final String error = new String(process.getErrorStream().readAllBytes());

    assertEquals(0, process.waitFor(), error);
    assertEquals("refused\nnot attached\n", output);
    assertEquals("", error);
  }

  /** Loads a program that the verifier refuses; runs in a separate process. */
  static final class RefusedLoad {
    private RefusedLoad() {}

    public static void main(String[] arguments) {
      LibBpf.ensureLoaded();
      try (BpfObject object = BpfObject.open(TestObjects.compile(REFUSED), "refused")) {
        object.load();
        System.out.println("loaded");
      } catch (LoadException e) {
        System.out.println("refused");
      }
      try (BpfObject object = BpfObject.open(TestObjects.compile(COUNTER), "counter")) {
        object.load();
        new TcFilter(Integer.MAX_VALUE, true, 1, 1).update(object.program("count"));
      } catch (BindingsException e) {
        System.out.println("not attached");
      }
    }
  }
}
