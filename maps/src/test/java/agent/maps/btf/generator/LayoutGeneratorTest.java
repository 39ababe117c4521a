package agent.maps.btf.generator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the generator writes is compiled as the build does, and each accessor reads and writes the
 * bytes of its member, in the byte order of that member, and no other byte.
 */
class LayoutGeneratorTest {
  private static final int OFFSET = 16;
  private static final int LENGTH = 112;
  private static final String PACKAGE = "agent.maps.layout.";

  private static final String COLOR =
      """
      package agent.maps.layout;

      /**
       * A color.
       *
       * <p>{@code enum color} in {@code maps/sample_map.h}.
       */
      public enum Color implements Numbered {
        /** As a rose. */
        RED(1),
        /** Before it. */
        GREEN(2),
        /** Over two lines. */
        BLUE(4);

        private final int number;

        Color(int number) {
          this.number = number;
        }

        @Override
        public int number() {
          return number;
        }
      }
      """;

  private static final String INNER =
      """
      package agent.maps.layout;

      import org.agrona.MutableDirectBuffer;

      /**
       * {@code struct inner} in {@code maps/sample_map.h}. Offsets and members:
       *
       * <pre>
       *    0  __u32 number
       * </pre>
       */
      public final class InnerFlyweight {
        public static final int NUMBER_OFFSET = 0;
        public static final int LENGTH = 4;

        private MutableDirectBuffer buffer;
        private int offset;

        /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
        public InnerFlyweight wrap(MutableDirectBuffer buffer, int offset) {
          this.buffer = buffer;
          this.offset = offset;
          return this;
        }

        /** Sets every byte to zero, including the reserved ones. */
        public InnerFlyweight clear() {
          buffer.setMemory(offset, LENGTH, (byte) 0);
          return this;
        }

        /** Returns the buffer that is wrapped. */
        public MutableDirectBuffer buffer() {
          return buffer;
        }

        /** Returns where the struct begins in the buffer. */
        public int offset() {
          return offset;
        }

        /** Returns {@code number} (of the inner one). */
        public int number() {
          return buffer.getInt(offset + NUMBER_OFFSET);
        }

        /** Sets {@code number} (of the inner one). */
        public InnerFlyweight number(int value) {
          buffer.putInt(offset + NUMBER_OFFSET, value);
          return this;
        }
      }
      """;

  @TempDir private static Path folder;

  private static Map<String, String> sources;
  private static URLClassLoader classes;

  private final byte[] bytes = new byte[OFFSET + LENGTH + OFFSET];
  private final UnsafeBuffer buffer = new UnsafeBuffer(bytes);
  private final Object flyweight = wrapped("SampleFlyweight");

  @BeforeAll
  static void compile() throws IOException {
    sources = new LayoutGenerator(SampleTypes.btf(), SampleTypes.HEADERS).sources();
    final Path written = folder.resolve("sources");
    LayoutGenerator.replace(written, sources);
    final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    final StringWriter problems = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      final List<String> options =
          List.of(
              "-Xlint:all",
              "-Xdoclint:all,-missing",
              "-Werror",
              "-proc:none",
              "-d",
              folder.resolve("classes").toString());
      final boolean isDone =
          compiler
              .getTask(
                  problems,
                  files,
                  null,
                  options,
                  null,
                  files.getJavaFileObjectsFromPaths(
                      sources.keySet().stream().map(written::resolve).toList()))
              .call();
      assertTrue(isDone, problems::toString);
    }
    classes =
        new URLClassLoader(
            new URL[] {folder.resolve("classes").toUri().toURL()},
            LayoutGeneratorTest.class.getClassLoader());
  }

  @AfterAll
  static void close() throws IOException {
    classes.close();
  }

  private Object wrapped(String type) {
    try {
      final Object created = classes.loadClass(PACKAGE + type).getConstructor().newInstance();
      final Method wrap =
          created.getClass().getMethod("wrap", MutableDirectBuffer.class, int.class);
      assertSame(created, wrap.invoke(created, buffer, OFFSET));
      return created;
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  private Object call(String method, Object... arguments) {
    final Class<?>[] types =
        Arrays.stream(arguments)
            .map(
                it ->
                    switch (it) {
                      case Integer _ -> int.class;
                      case Boolean _ -> boolean.class;
                      default -> long.class;
                    })
            .toArray(Class<?>[]::new);
    try {
      return flyweight.getClass().getMethod(method, types).invoke(flyweight, arguments);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(method, e);
    }
  }

  /** Writes a value where all bytes are 0x55, and reads it again. */
  private void assertPlace(String member, Object value, int offset, byte[] octets) {
    assertWritten(offset, octets, member, value);
    assertEquals(value, call(member));
  }

  private void assertElement(String member, int index, Object value, int offset, byte[] octets) {
    assertWritten(offset, octets, member, index, value);
    assertEquals(value, call(member, index));
  }

  private void assertWritten(int offset, byte[] octets, String member, Object... arguments) {
    Arrays.fill(bytes, (byte) 0x55);
    final byte[] wanted = bytes.clone();
    System.arraycopy(octets, 0, wanted, OFFSET + offset, octets.length);
    assertSame(flyweight, call(member, arguments));
    assertArrayEquals(wanted, bytes, member);
  }

  private static byte[] network(long value, int length) {
    final byte[] octets = ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    return Arrays.copyOfRange(octets, Long.BYTES - length, Long.BYTES);
  }

  private static byte[] host(long value, int length) {
    final byte[] octets =
        ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array();
    assertSame(ByteOrder.LITTLE_ENDIAN, ByteOrder.nativeOrder());
    return Arrays.copyOf(octets, length);
  }

  @Test
  void shouldPlaceUnsignedNumbersInTheOrderOfTheHost() {
    assertPlace("kind", 0xf1, 0, host(0xf1, 1));
    assertPlace("number", 0xf1e2d3c4, 4, host(0xf1e2d3c4, 4));
    assertPlace("wide", 0xf1e2_d3c4_b5a6_9788L, 8, host(0xf1e2_d3c4_b5a6_9788L, 8));
    assertPlace("count", 0xf1e2, 20, host(0xf1e2, 2));
  }

  @Test
  void shouldPlaceNumbersOfTheNetworkInItsOrder() {
    assertPlace("clientPort", 0xf1e2, 2, network(0xf1e2, 2));
    assertPlace("lowAddress", 0xf1e2d3c4, 16, network(0xf1e2d3c4, 4));
    assertPlace("serial", 0xf1e2_d3c4_b5a6_9788L, 88, network(0xf1e2_d3c4_b5a6_9788L, 8));
  }

  @Test
  void shouldPlaceTheOctetsOfAddresses() {
    assertPlace("ipv4", 0x0a010007, 32, new byte[] {10, 1, 0, 7});
    assertPlace("mac", 0xfe00_5e10_2030L, 24, network(0xfe00_5e10_2030L, 6));
    final byte[] octets = new byte[16];
    System.arraycopy(network(0xf0ff_0203_0405_0607L, 8), 0, octets, 0, 8);
    System.arraycopy(network(0x0809_0a0b_0c0d_0eefL, 8), 0, octets, 8, 8);
    assertWritten(64, octets, "ipv6", 0xf0ff_0203_0405_0607L, 0x0809_0a0b_0c0d_0eefL);
    assertEquals(0xf0ff_0203_0405_0607L, call("ipv6High"));
    assertEquals(0x0809_0a0b_0c0d_0eefL, call("ipv6Low"));
  }

  @Test
  void shouldPlaceEachElementOfAnArray() {
    assertElement("octets", 0, 0xf1, 22, host(0xf1, 1));
    assertElement("octets", 1, 0xf1, 23, host(0xf1, 1));
    assertElement("sizes", 1, 0xf1e2, 86, host(0xf1e2, 2));
    assertElement("numbers", 0, 0xf1e2d3c4, 36, host(0xf1e2d3c4, 4));
    assertElement("numbers", 1, 0xf1e2d3c4, 40, host(0xf1e2d3c4, 4));
    assertElement("totals", 1, -2L, 56, host(-2, 8));
  }

  @Test
  void shouldSetABitFieldAndNoneBesideIt() {
    assertPlace("lifetimeS", 0xf1e2d3, 80, host(0xf1e2d3, 3));
    assertPlace("mode", 0xf1, 83, host(0xf1, 1));
    assertWritten(83, host(0xf1, 1), "mode", 0x7f1);
  }

  @Test
  void shouldPlaceAByteThatIsTrueOrFalse() {
    assertPlace("hasMore", true, 1, new byte[] {1});
    assertPlace("hasMore", false, 1, new byte[] {0});
  }

  @Test
  void shouldPlaceTheMembersOfAUnionOverEachOther() {
    assertElement("packets", 1, -2L, 104, host(-2, 8));
    final byte[] octets = new byte[16];
    octets[15] = 7;
    assertWritten(96, octets, "relayAddress", 0L, 7L);
  }

  @Test
  void shouldReadANestedStruct() throws ReflectiveOperationException {
    buffer.putInt(OFFSET + 44, 0xf1e2d3c4);
    final Object inner = call("inner");
    assertEquals(0xf1e2d3c4, inner.getClass().getMethod("number").invoke(inner));
    assertSame(inner, call("inner"), "one for each flyweight");
  }

  @Test
  void shouldClearItsOwnBytesAlone() {
    Arrays.fill(bytes, (byte) 0x55);
    final byte[] wanted = bytes.clone();
    Arrays.fill(wanted, OFFSET, OFFSET + LENGTH, (byte) 0);
    assertSame(flyweight, call("clear"));
    assertArrayEquals(wanted, bytes);
    assertSame(buffer, call("buffer"));
    assertEquals(OFFSET, call("offset"));
  }

  @Test
  void shouldNameOffsetsAndCountsAsCDoes() throws ReflectiveOperationException {
    final Class<?> type = flyweight.getClass();
    assertEquals(LENGTH, type.getField("LENGTH").get(null));
    assertEquals(2, type.getField("CLIENT_PORT_BE_OFFSET").get(null));
    assertEquals(30, type.getField("RESERVED_OFFSET").get(null));
    assertEquals(80, type.getField("MODE_OFFSET").get(null));
    assertEquals(96, type.getField("RELAY_ADDRESS_OFFSET").get(null));
    assertEquals(2, type.getField("TOTALS_COUNT").get(null));
    assertFalse(sources.get("SampleFlyweight.java").contains(" reserved("));
  }

  @Test
  void shouldReadAsIfWrittenByHand() {
    assertEquals(INNER, sources.get("InnerFlyweight.java"));
  }

  @Test
  void shouldWriteTheCommentsOfC() {
    final String sample = sources.get("SampleFlyweight.java");
    for (final String comment :
        List.of(
            " * What is known of a sample, &lt;b&gt; &amp; &#123;more&#125; &#64;home: {@link Color}, {@link",
            " * InnerFlyweight}, {@code struct other}.\n *\n * <p>A second paragraph.\n *\n",
            " *   80  __u32 lifetime_s : 24\n *   80  __u32 mode : 8\n *   84  __u16 sizes[2]\n",
            " *   44  struct inner inner\n",
            "/** Returns {@code kind} ({@link Color}). */",
            "/** Sets {@code client_port_be} in host byte order (0: none). */",
            "/** Returns {@code numbers[index]} (by side). */",
            "/** Returns {@code lifetime_s}, 24 bits (in seconds). */",
            "/** Returns the lower 64 bits of {@code relay_address} (of the peer). */")) {
      assertTrue(sample.contains(comment), comment + "\n" + sample);
    }
  }

  @Test
  void shouldReplaceWhatHasChangedAndDeleteWhatIsGone(@TempDir Path target) throws IOException {
    LayoutGenerator.replace(target, Map.of("A.java", "a", "B.java", "b", "C.java", "c"));
    final FileTime before = FileTime.fromMillis(1_000_000);
    for (final String file : List.of("A.java", "B.java", "C.java")) {
      Files.setLastModifiedTime(target.resolve(file), before);
    }
    LayoutGenerator.replace(target, Map.of("A.java", "a", "B.java", "other"));
    assertEquals(before, Files.getLastModifiedTime(target.resolve("A.java")));
    assertEquals("other", Files.readString(target.resolve("B.java")));
    assertFalse(Files.exists(target.resolve("C.java")));
  }

  @Test
  void shouldWriteAFileForEachTypeThatIsShown() {
    assertEquals(
        Set.of(
            "Color.java",
            "InnerFlyweight.java",
            "MapSize.java",
            "SampleFlag.java",
            "SampleFlyweight.java",
            "SampleLayout.java"),
        sources.keySet());
  }

  @Test
  void shouldWriteAnEnumWithoutWhatAllNamesBeginWith() {
    assertEquals(COLOR, sources.get("Color.java"));
  }

  @Test
  void shouldTestTheBitsOfFlags() throws ReflectiveOperationException {
    final Class<?> flags = classes.loadClass(PACKAGE + "SampleFlag");
    final Method isIn = flags.getMethod("isIn", int.class);
    final Object seen = flags.getField("SEEN").get(null);
    assertEquals(true, isIn.invoke(seen, 6));
    assertEquals(false, isIn.invoke(seen, 5));
  }

  @Test
  void shouldWriteNumbersOfOneEnumAndSizesOfAll() throws ReflectiveOperationException {
    final Class<?> numbers = classes.loadClass(PACKAGE + "SampleLayout");
    assertEquals(5, numbers.getField("SHIFT").get(null));
    assertEquals(-1, numbers.getField("MASK").get(null));
    assertTrue(
        sources
            .get("MapSize.java")
            .contains("  /** Entries. */\n  public static final int SAMPLES_MAX = 65_536;\n"));
  }
}
