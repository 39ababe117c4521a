package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BtfTest {
  @Test
  void shouldReadEveryKindOfType() {
    final BtfBuilder builder = new BtfBuilder();
    final int number = builder.type(1, false, 0, "int", 4, 1 << 24 | 32);
    builder.type(2, false, 0, "", number);
    final int array = builder.type(3, false, 0, "", 0, number, number, 7);
    builder.type(4, false, 2, "pair", 8, "first", number, 0, "second", number, 32);
    builder.type(5, false, 1, "choice", 4, "one", number, 0);
    builder.type(6, true, 1, "color", 4, "RED", -1);
    builder.type(7, true, 0, "later", 0);
    final int typedef = builder.type(8, false, 0, "number_t", number);
    final int volatileType = builder.type(9, false, 0, "", typedef);
    final int constType = builder.type(10, false, 0, "", volatileType);
    builder.type(11, false, 0, "", constType);
    final int prototype = builder.type(13, false, 1, "", number, "argument", number);
    builder.type(12, false, 1, "call", prototype);
    final int variable = builder.type(14, false, 0, "config", constType, 1);
    builder.type(15, false, 1, ".rodata", 4, variable, 0, 4);
    builder.type(16, false, 0, "double", 8);
    builder.type(17, false, 0, "tag", number, -1);
    final int typeTag = builder.type(18, false, 0, "rcu", number);
    builder.type(19, false, 1, "wide", 8, "HUGE", 1, 2);

    final Btf btf = builder.btf();

    assertEquals(20, btf.size());
    assertEquals(new BtfType.Void(), btf.type(0));
    assertEquals(new BtfType.Int("int", 4, 32, true), btf.type(1));
    assertEquals(new BtfType.Ptr(number), btf.type(2));
    assertEquals(new BtfType.Array(number, number, 7), btf.type(array));
    assertEquals(
        List.of(
            new BtfType.Member("first", number, 0, 0), new BtfType.Member("second", number, 32, 0)),
        btf.find(BtfType.Composite.class, "pair").orElseThrow().members());
    assertTrue(btf.find(BtfType.Composite.class, "choice").orElseThrow().union());
    assertEquals(
        List.of(new BtfType.Constant("RED", -1)),
        btf.find(BtfType.Enumeration.class, "color").orElseThrow().constants());
    assertEquals(new BtfType.Forward("later", true), btf.type(7));
    assertEquals(btf.type(number), btf.resolve(constType));
    assertEquals("number_t", btf.declaredName(constType));
    assertEquals(
        new BtfType.FunctionPrototype(number, List.of(new BtfType.Parameter("argument", number))),
        btf.type(prototype));
    assertEquals(new BtfType.Function("call", prototype, 1), btf.type(13));
    assertEquals(new BtfType.Variable("config", constType, 1), btf.type(variable));
    assertEquals(
        List.of(new BtfType.Slot(variable, 0, 4)),
        btf.dataSection(".rodata").orElseThrow().slots());
    assertEquals(new BtfType.FloatingPoint("double", 8), btf.type(16));
    assertEquals(new BtfType.DeclarationTag("tag", number, -1), btf.type(17));
    assertEquals(btf.type(number), btf.resolve(typeTag));
    assertEquals(
        List.of(new BtfType.Constant("HUGE", 2L << 32 | 1)),
        btf.find(BtfType.Enumeration.class, "wide").orElseThrow().constants());
    assertEquals(28, btf.sizeOf(array));
  }

  @Test
  void shouldReadTheOtherByteOrder() {
    final BtfBuilder builder = new BtfBuilder(ByteOrder.BIG_ENDIAN);
    builder.integer("unsigned int", 4);
    assertEquals(new BtfType.Int("unsigned int", 4, 32, false), builder.btf().type(1));
  }

  @Test
  void shouldReadAnUnsignedEnumValueAsUnsigned() {
    final BtfBuilder builder = new BtfBuilder();
    builder.type(6, false, 1, "bits", 4, "TOP", 1 << 31);
    assertEquals(
        0x8000_0000L,
        builder
            .btf()
            .find(BtfType.Enumeration.class, "bits")
            .orElseThrow()
            .constants()
            .getFirst()
            .value());
  }

  @Test
  void shouldRefuseAKindThatIsNotKnown() {
    final BtfBuilder builder = new BtfBuilder();
    builder.type(20, false, 0, "future", 0);
    assertEquals(
        "BTF: type 1 is of unknown kind 20",
        assertThrows(BtfException.class, builder::btf).getMessage());
  }

  @Test
  void shouldRefuseATypedefThatRefersToItself() {
    final BtfBuilder builder = new BtfBuilder();
    builder.typedef("snake", 1);
    final Btf btf = builder.btf();
    assertThrows(BtfException.class, () -> btf.resolve(1));
  }

  @Test
  void shouldFollowTypesUpToALimit() {
    for (final int kind : new int[] {8, 10}) {
      final BtfBuilder builder = new BtfBuilder();
      int last = builder.integer("int", 4);
      for (int i = 0; i < 64; i++) {
        last = builder.type(kind, false, 0, "", last);
      }
      final Btf btf = builder.btf();
      assertEquals("int", btf.resolve(last - 1).name());
      final int tooLong = last;
      assertThrows(BtfException.class, () -> btf.resolve(tooLong));
      if (kind == 10) {
        assertEquals("int", btf.declaredName(last - 1));
        assertThrows(BtfException.class, () -> btf.declaredName(tooLong));
      }
    }
  }

  @Test
  void shouldHaveVoidAsItsFirstType() {
    final Btf btf = new BtfBuilder().btf();
    assertEquals(1, btf.size());
    assertEquals("void", btf.type(0).name());
    assertThrows(BtfException.class, () -> btf.type(1));
    assertThrows(BtfException.class, () -> btf.type(-1));
  }

  @Test
  void shouldReadNoNameBehindTheLastOne() {
    final BtfBuilder builder = new BtfBuilder();
    builder.integer("int", 4);
    final byte[] raw = builder.build();
    final ByteBuffer header = ByteBuffer.wrap(raw).order(ByteOrder.LITTLE_ENDIAN);
    header.putInt(24, 1 + 3);
    assertEquals("", Btf.parse(raw).type(1).name());
    header.putInt(24, 1 + 3 + 1);
    assertEquals(
        "BTF: no string at 5", assertThrows(BtfException.class, () -> Btf.parse(raw)).getMessage());
    header.putInt(24, -1);
    assertEquals(
        "BTF: no string at -1",
        assertThrows(BtfException.class, () -> Btf.parse(raw)).getMessage());
  }

  @Test
  void shouldReadALastNameThatIsNotTerminated() {
    final BtfBuilder builder = new BtfBuilder();
    builder.integer("int", 4);
    final byte[] whole = builder.build();
    final byte[] raw = Arrays.copyOf(whole, whole.length - 1);
    ByteBuffer.wrap(raw).order(ByteOrder.LITTLE_ENDIAN).putInt(20, 4);
    assertEquals("int", Btf.parse(raw).type(1).name());
  }

  @Test
  void shouldReadABtfWithoutTypesAndNames() {
    final byte[] raw = Arrays.copyOf(new BtfBuilder().build(), 24);
    ByteBuffer.wrap(raw).order(ByteOrder.LITTLE_ENDIAN).putInt(20, 0);
    assertEquals(1, Btf.parse(raw).size());
  }

  /** The order of the two sections is not given. */
  @Test
  void shouldReadTypesThatStandBehindTheNames() {
    final BtfBuilder builder = new BtfBuilder();
    builder.integer("int", 4);
    final ByteBuffer first = ByteBuffer.wrap(builder.build()).order(ByteOrder.LITTLE_ENDIAN);
    final int typeBytes = first.getInt(12);
    final int stringBytes = first.getInt(20);
    final ByteBuffer swapped = ByteBuffer.allocate(first.capacity()).order(ByteOrder.LITTLE_ENDIAN);
    swapped.put(0, first, 0, 24).putInt(8, stringBytes).putInt(16, 0);
    swapped.put(24, first, 24 + typeBytes, stringBytes);
    swapped.put(24 + stringBytes, first, 24, typeBytes);
    assertEquals("int", Btf.parse(swapped.array()).type(1).name());
  }

  @Test
  void shouldRefuseAnArrayOfItself() {
    final BtfBuilder builder = new BtfBuilder();
    builder.array(1, 1);
    final Btf btf = builder.btf();
    assertThrows(BtfException.class, () -> btf.sizeOf(1));
  }

  @Test
  void shouldRefuseEveryTruncation() {
    final BtfBuilder builder = new BtfBuilder();
    final int number = builder.integer("int", 4);
    builder.type(4, false, 1, "single", 4, "only", number, 0);
    final byte[] whole = builder.build();
    for (int length = 0; length < whole.length; length++) {
      final byte[] part = Arrays.copyOf(whole, length);
      assertThrows(BtfException.class, () -> Btf.parse(part), length + " of " + whole.length);
    }
  }

  @Test
  void shouldThrowOnlyBtfExceptionOnRandomBytes() {
    final BtfBuilder builder = new BtfBuilder();
    final int number = builder.integer("int", 4);
    builder.type(4, false, 1, "single", 4, "only", number, 0);
    final byte[] whole = builder.build();
    final Random random = new Random(7);
    for (int round = 0; round < 20_000; round++) {
      final byte[] damaged = whole.clone();
      for (int i = 0; i < 3; i++) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
      }
      try {
        final Btf btf = Btf.parse(damaged);
        assertTrue(btf.size() >= 1);
      } catch (BtfException expected) {
        assertTrue(expected.getMessage().startsWith("BTF: "));
      }
    }
  }
}
