package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.EnumSpec;
import agent.maps.layout.StructSpec;
import agent.maps.layout.StructSpec.Scalar;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Checks that each kind of mismatch is found, on BTF that contains the constructs of the agent's
 * structs.
 */
class LayoutCheckTest {
  private static final StructSpec INNER =
      StructSpec.named("inner", 4).bytes("octets", 0, 4).build();

  private final Btf btf = c();

  /**
   * Creates the BTF of these types:
   *
   * <pre>
   * struct inner { __u8 octets[4]; };
   * struct outer { __u32 number; __be16 port_be; __u16 low : 4, high : 12;
   *                __u64 wide[2]; struct inner pair[2]; struct inner one; };
   * enum color { COLOR_RED = 1, COLOR_GREEN = 2 };
   * </pre>
   */
  private static Btf c() {
    final BtfBuilder builder = new BtfBuilder();
    final int u8 = builder.typedef("__u8", builder.integer("unsigned char", 1));
    final int u16 = builder.typedef("__u16", builder.integer("unsigned short", 2));
    final int be16 = builder.typedef("__be16", u16);
    final int u32 = builder.typedef("__u32", builder.integer("unsigned int", 4));
    final int u64 = builder.typedef("__u64", builder.integer("unsigned long long", 8));
    final int octets = builder.array(u8, 4);
    final int inner = builder.type(4, false, 1, "inner", 4, "octets", octets, 0);
    final int wide = builder.array(u64, 2);
    final int pair = builder.array(inner, 2);
    builder.type(
        4,
        true,
        7,
        "outer",
        36,
        "number",
        u32,
        0,
        "port_be",
        be16,
        32,
        "low",
        u16,
        4 << 24 | 48,
        "high",
        u16,
        12 << 24 | 52,
        "wide",
        wide,
        64,
        "pair",
        pair,
        192,
        "one",
        inner,
        256);
    final int signed = builder.type(1, false, 0, "int", 4, 1 << 24 | 32);
    final int wrong = builder.typedef("__u32", signed);
    builder.type(4, false, 1, "signed_one", 4, "number", wrong, 0);
    builder.type(5, false, 1, "either", 4, "number", u32, 0);
    builder.type(4, false, 1, "anonymous", 4, "", u32, 0);
    builder.type(6, false, 2, "color", 4, "COLOR_RED", 1, "COLOR_GREEN", 2);
    return builder.btf();
  }

  private static StructSpec.Builder outer(int length) {
    return StructSpec.named("outer", length);
  }

  private static StructSpec.Builder good() {
    return front(outer(36))
        .scalars("wide", 8, Scalar.U64, 2)
        .structs("pair", 24, INNER, 2)
        .structs("one", 32, INNER, 0);
  }

  private static StructSpec.Builder front(StructSpec.Builder builder) {
    return builder
        .scalar("number", 0, Scalar.U32)
        .scalar("port_be", 4, Scalar.BE16)
        .scalar("low", 6, Scalar.U16)
        .scalar("high", 6, Scalar.U16);
  }

  /**
   * With {@code low} and {@code high} as bit fields, of which the agent's own structs have none.
   */
  private static StructSpec build(StructSpec.Builder builder) {
    final StructSpec spec = builder.build();
    final List<StructSpec.Member> members =
        spec.members().stream()
            .map(
                m ->
                    switch (m.name()) {
                      case "low" -> new StructSpec.Member(m.name(), 48, 4, Scalar.U16, null, 0);
                      case "high" -> new StructSpec.Member(m.name(), 52, 12, Scalar.U16, null, 0);
                      default -> m;
                    })
            .toList();
    return new StructSpec(spec.name(), spec.length(), members);
  }

  private List<String> check(StructSpec.Builder builder) {
    return new LayoutCheck(btf).struct(build(builder)).mismatches();
  }

  private List<String> checkWith(String member, UnaryOperator<StructSpec.Member> change) {
    final StructSpec spec = build(good());
    final List<StructSpec.Member> members =
        spec.members().stream().map(m -> m.name().equals(member) ? change.apply(m) : m).toList();
    final StructSpec changed = new StructSpec(spec.name(), spec.length(), members);
    return new LayoutCheck(btf).struct(changed).mismatches();
  }

  @Test
  void shouldAcceptEqualLayouts() {
    assertEquals(List.of(), check(good()));
  }

  @Test
  void shouldFindAMissingStruct() {
    assertEquals(List.of("struct absent: not in BTF"), check(StructSpec.named("absent", 4)));
    assertEquals(
        List.of("struct either: not in BTF"),
        check(StructSpec.named("either", 4).scalar("number", 0, Scalar.U32)));
  }

  @Test
  void shouldFindAnotherTotalSize() {
    final StructSpec spec = build(good());
    assertEquals(
        List.of("struct outer: size: 40 in Java, 36 in C"),
        new LayoutCheck(btf).struct(new StructSpec("outer", 40, spec.members())).mismatches());
  }

  @Test
  void shouldFindAMemberThatJavaLacks() {
    final StructSpec spec = build(good());
    final List<StructSpec.Member> fewer =
        spec.members().stream().filter(member -> !member.name().equals("port_be")).toList();
    assertEquals(
        List.of("struct outer.port_be: not in Java"),
        new LayoutCheck(btf).struct(new StructSpec("outer", 36, fewer)).mismatches());
  }

  @Test
  void shouldFindAMemberThatCLacks() {
    assertEquals(
        List.of("struct outer.extra: not in C, or twice in Java"),
        check(good().scalar("extra", 0, Scalar.U8)));
  }

  @Test
  void shouldFindAMemberNamedTwice() {
    assertEquals(
        List.of("struct outer.number: not in C, or twice in Java"),
        check(good().scalar("number", 0, Scalar.U32)));
  }

  @Test
  void shouldFindAnotherOffset() {
    assertEquals(
        List.of("struct outer.port_be: offset in bits: 48 in Java, 32 in C"),
        checkWith(
            "port_be",
            m -> new StructSpec.Member(m.name(), 48, 0, m.scalar(), m.struct(), m.count())));
  }

  @Test
  void shouldFindAnotherBitWidth() {
    assertEquals(
        List.of("struct outer.high: width in bits, 0 for no bit field: 11 in Java, 12 in C"),
        checkWith(
            "high",
            m -> new StructSpec.Member(m.name(), 52, 11, m.scalar(), m.struct(), m.count())));
  }

  @Test
  void shouldFindABitFieldThatJavaDeclaresAsAMember() {
    assertEquals(
        List.of("struct outer.low: width in bits, 0 for no bit field: 0 in Java, 4 in C"),
        checkWith(
            "low", m -> new StructSpec.Member(m.name(), 48, 0, m.scalar(), m.struct(), m.count())));
  }

  @Test
  void shouldFindAnotherByteOrder() {
    assertEquals(
        List.of("struct outer.port_be: type: __u16 in Java, __be16 in C"),
        checkWith("port_be", m -> new StructSpec.Member(m.name(), 32, 0, Scalar.U16, null, 0)));
  }

  @Test
  void shouldFindAnotherWidthOfTheType() {
    assertEquals(
        List.of(
            "struct outer.number: type: __u64 in Java, __u32 in C",
            "struct outer.number: type: 8 bytes unsigned in Java,"
                + " Int[name=unsigned int, size=4, bits=32, signed=false] in C"),
        checkWith("number", m -> new StructSpec.Member(m.name(), 0, 0, Scalar.U64, null, 0)));
  }

  @Test
  void shouldFindASignedType() {
    assertEquals(
        List.of(
            "struct signed_one.number: type: 4 bytes unsigned in Java,"
                + " Int[name=int, size=4, bits=32, signed=true] in C"),
        check(StructSpec.named("signed_one", 4).scalar("number", 0, Scalar.U32)));
  }

  @Test
  void shouldFindAnotherArrayLength() {
    assertEquals(
        List.of("struct outer.wide: elements, 0 for no array: 3 in Java, 2 in C"),
        checkWith("wide", m -> new StructSpec.Member(m.name(), 64, 0, m.scalar(), null, 3)));
  }

  @Test
  void shouldFindAScalarWhereCHasAStruct() {
    assertEquals(
        2,
        checkWith("one", m -> new StructSpec.Member(m.name(), 256, 0, Scalar.U32, null, 0)).size());
  }

  @Test
  void shouldFindAnotherNestedStruct() {
    final StructSpec other = StructSpec.named("other", 4).bytes("octets", 0, 4).build();
    assertEquals(
        1, checkWith("one", m -> new StructSpec.Member(m.name(), 256, 0, null, other, 0)).size());
  }

  @Test
  void shouldFindAMismatchInsideANestedStruct() {
    final StructSpec wrong = StructSpec.named("inner", 4).bytes("octets", 0, 3).build();
    assertEquals(
        List.of("struct inner.octets: elements, 0 for no array: 3 in Java, 4 in C"),
        checkWith("pair", m -> new StructSpec.Member(m.name(), 192, 0, null, wrong, 2)));
  }

  @Test
  void shouldFindAMemberWithoutName() {
    assertEquals(
        List.of(
            "struct anonymous: a member without a name of its own in C:"
                + " Member[name=, type=7, bitOffset=0, bitWidth=0]"),
        check(StructSpec.named("anonymous", 4)).stream()
            .filter(line -> line.contains("without"))
            .map(line -> line.replaceAll("type=\\d+", "type=7"))
            .toList());
  }

  @Test
  void shouldFindEveryKindOfEnumMismatch() {
    final EnumSpec good = new EnumSpec("color", Map.of("COLOR_RED", 1L, "COLOR_GREEN", 2L));
    assertEquals(List.of(), new LayoutCheck(btf).enumeration(good).mismatches());
    assertEquals(
        List.of("enum color.COLOR_RED: 3 in Java, 1 in C"),
        new LayoutCheck(btf)
            .enumeration(new EnumSpec("color", Map.of("COLOR_RED", 3L, "COLOR_GREEN", 2L)))
            .mismatches());
    assertEquals(
        List.of("enum color.COLOR_GREEN: not in Java"),
        new LayoutCheck(btf)
            .enumeration(new EnumSpec("color", Map.of("COLOR_RED", 1L)))
            .mismatches());
    assertEquals(
        List.of("enum color.COLOR_BLUE: not in C"),
        new LayoutCheck(btf)
            .enumeration(
                new EnumSpec("color", Map.of("COLOR_RED", 1L, "COLOR_GREEN", 2L, "COLOR_BLUE", 4L)))
            .mismatches());
    assertEquals(
        List.of("enum shape: not in BTF"),
        new LayoutCheck(btf).enumeration(new EnumSpec("shape", Map.of())).mismatches());
  }
}
