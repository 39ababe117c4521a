package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
      assertEquals(0, run.run(object.programFd("length_or_constant"), PACKET.length, 0, 1));
      assertEquals(77, run.returnValue());
    }
  }

  @Test
  void shouldShareAMapThatExistsAlready() {
    final int fd = MapCalls.create(MapSpec.of(MapType.ARRAY, "numbers", 4, 8, 4, 0));
    try (BpfObject object = BpfObject.open(TestObjects.compile(COUNTER), "counter")) {
      object.reuseMap("numbers", fd);
      object.load();
      assertEquals(
          ObjectDescriptions.map(fd).id(), ObjectDescriptions.map(object.mapFd("numbers")).id());
    } finally {
      Descriptors.close(fd);
    }
  }

  @Test
  void shouldDescribeWhatTheObjectDeclares() {
    try (BpfObject object = BpfObject.open(TestObjects.compile(COUNTER), "counter")) {
      assertEquals(List.of("count", "other"), object.programNames());
      assertTrue(object.hasMap("numbers"));
      assertFalse(object.hasMap("letters"));
      assertEquals(MapSpec.of(MapType.ARRAY, "numbers", 4, 8, 4, 0), object.mapSpec("numbers"));
      assertEquals(MapSpec.of(MapType.HASH, "outer", 4, 8, 9, 0), object.innerMapSpec("outer"));
      assertThrows(BindingsException.class, () -> object.innerMapSpec("numbers"));
      assertThrows(BindingsException.class, object::rodata);
      assertThrows(BindingsException.class, () -> object.programFd("nothing"));
    }
  }

  @Test
  void shouldApplyCapacityAndFlagsAndLeaveOutPrograms() {
    try (BpfObject object = BpfObject.open(TestObjects.compile(COUNTER), "counter")) {
      object.setMaxEntries("numbers", 5);
      object.setMapFlags("numbers", MapFlag.MMAPABLE);
      object.setAutoload("other", false);
      object.load();
      final MapDescription numbers = ObjectDescriptions.map(object.mapFd("numbers"));
      assertEquals(5, numbers.maxEntries());
      assertEquals(MapFlag.MMAPABLE, numbers.flags());
      assertThrows(BindingsException.class, () -> object.programFd("other"));
    }
  }

  @Test
  void shouldCarryTheLastLinesOfTheVerifierLog() {
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
  void shouldRefuseWhatIsNotAnObject() {
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
    assertEquals("refused\n", output);
    assertEquals("", error);
  }

  /** Loads a program that the verifier refuses, in a process of its own. */
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
      new TcFilter(Integer.MAX_VALUE, true, 1, 1).attachOrReplace(0);
    }
  }
}
