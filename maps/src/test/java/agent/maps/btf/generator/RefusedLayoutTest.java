package agent.maps.btf.generator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.maps.btf.BtfException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What has no form in Java is refused with its struct and member. */
class RefusedLayoutTest {
  private final SampleTypes.Types types = new SampleTypes.Types();
  private String header = "";

  private void assertRefused(String message) {
    final Map<String, String> headers = Map.of("maps/bad_map.h", header);
    assertEquals(
        message,
        assertThrows(
                BtfException.class,
                () -> new LayoutGenerator(types.builder.btf(), headers).sources())
            .getMessage());
  }

  /** Shows {@code struct bad} with one member. */
  private void show(String name, int type) {
    header = "struct bad {\n\t__u32 " + name + ";\n};\n";
    types.show("layout_bad", types.struct("bad", 64, types.member(name, type, 0)));
  }

  @Test
  void shouldRefuseASignedNumber() {
    show(
        "level",
        types.builder.typedef("__s32", types.builder.type(1, false, 0, "int", 4, 1 << 24 | 32)));
    assertRefused("struct bad: member level: of type __s32");
  }

  @Test
  void shouldRefuseATypeThatOnlyHasTheNameOfANumber() {
    show("level", types.builder.typedef("__u16", types.u32));
    assertRefused(
        "struct bad: member level: __u16 that is"
            + " Int[name=unsigned int, size=4, bits=32, signed=false]");
  }

  @Test
  void shouldRefuseASignedTypeWithTheNameOfAnUnsignedOne() {
    show(
        "level",
        types.builder.typedef("__u32", types.builder.type(1, false, 0, "int", 4, 1 << 24 | 32)));
    assertRefused(
        "struct bad: member level: __u32 that is Int[name=int, size=4, bits=32, signed=true]");
  }

  @Test
  void shouldRefuseANameOfAnotherByteOrderThanItsType() {
    show("port_be", types.u16);
    assertRefused("struct bad: member port_be: __u16, while its name says big endian");
  }

  @Test
  void shouldRefuseAPointer() {
    show("next", types.builder.type(2, false, 0, "", types.u32));
    assertRefused("struct bad: member next: of type Ptr[type=6]");
  }

  @Test
  void shouldRefuseAnEnumAsAMember() {
    show("state", types.builder.type(6, false, 1, "state", 4, "STATE_ON", 1));
    assertRefused("struct bad: member state: of type enum state");
  }

  @Test
  void shouldRefuseAnArrayOfStructs() {
    final int inner = types.struct("inner", 4, types.member("number", types.u32, 0));
    show("inner", types.builder.array(inner, 2));
    assertRefused("struct bad: member inner: an array of structs");
  }

  @Test
  void shouldRefuseAnArrayWithoutALength() {
    show("rest", types.builder.array(types.u8, 0));
    assertRefused("struct bad: member rest: an array without a length");
  }

  @Test
  void shouldRefuseAnArrayOfArrays() {
    show("table", types.builder.array(types.builder.array(types.u8, 2), 2));
    assertRefused("struct bad: member table: of type Array[elementType=2, indexType=2, count=2]");
  }

  @Test
  void shouldRefuseAUnionWithAName() {
    show("either", types.builder.type(5, false, 1, "either", 4, "number", types.u32, 0));
    assertRefused(
        "struct bad: member either: a union with a name; one without has its members in this struct");
  }

  @Test
  void shouldRefuseAConstantThatIsNoInt() {
    header = "enum wide {\n\tWIDE = 1,\n};\n";
    types.show("layout_wide", types.builder.type(19, false, 1, "wide", 8, "WIDE", 1, 2));
    assertRefused("enum wide: WIDE: 8589934593 is not an int");
  }

  @Test
  void shouldRefuseToShowAUnion() {
    types.show(
        "layout_either", types.builder.type(5, false, 1, "either", 4, "number", types.u32, 0));
    assertRefused("struct either: not in BTF");
  }

  @Test
  void shouldRefuseANestedStructWithoutAFlyweight() {
    show("inner", types.struct("inner", 4, types.member("number", types.u32, 0)));
    assertRefused("struct bad: member inner: struct inner has no flyweight; show it, too");
  }

  @Test
  void shouldRefuseABitFieldOfAnotherWordThanOf32Bits() {
    header = "struct bad {\n\t__u16 low : 4;\n};\n";
    types.show("layout_bad", types.struct("bad", 2, new Object[] {"low", types.u16, 4 << 24}));
    assertRefused("struct bad: member low: a bit field of __u16 and not of __u32");
  }

  @Test
  void shouldRefuseABitFieldOverTheEndOfAWord() {
    header = "struct bad {\n\t__u32 low : 8;\n};\n";
    types.show("layout_bad", types.struct("bad", 8, new Object[] {"low", types.u32, 8 << 24 | 28}));
    assertRefused("struct bad: member low: a bit field over the end of a word");
  }

  @Test
  void shouldRefuseTwoMembersOfOneName() {
    header = "struct bad {\n\t__u16 port;\n\t__be16 port_be;\n};\n";
    types.show(
        "layout_bad",
        types.struct(
            "bad", 4, types.member("port", types.u16, 0), types.member("port_be", types.be16, 2)));
    assertRefused("struct bad: member port_be: 'port()' would be there twice");
  }

  @Test
  void shouldRefuseTheNameOfAMethodThatEveryFlyweightHas() {
    show("offset", types.u32);
    assertRefused("struct bad: member offset: 'offset()' would be there twice");
  }

  @Test
  void shouldRefuseAKeyword() {
    show("class", types.u32);
    assertRefused("struct bad: member class: 'class' is a keyword of Java");
  }

  @Test
  void shouldRefuseAStructThatNoHeaderDeclares() {
    show("number", types.u32);
    header = "struct other {\n};\n";
    assertRefused("struct bad: no header declares it");
  }

  @Test
  void shouldRefuseAMemberThatTheHeaderLacks() {
    show("number", types.u32);
    header = "struct bad {\n\t__u32 count;\n};\n";
    assertRefused("maps/bad_map.h: does not declare 'number', which BTF has");
  }

  @Test
  void shouldRefuseAStructThatIsDeclaredTwice() {
    show("number", types.u32);
    header += header;
    assertRefused("maps/bad_map.h: struct bad is declared twice");
  }
}
