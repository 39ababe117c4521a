package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.NodeMaps;
import agent.maps.layout.EnumSpec;
import agent.maps.layout.Layouts;
import agent.maps.layout.StructSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Java's layouts and maps against the objects that ship. */
class ShippedLayoutTest {
  private static final String SHOWN = "layout_";

  private final Btf layouts = Btf.of(ShippedObjects.read("layouts"));

  @Test
  void shouldAgreeOnEveryStructAndEnum() {
    final LayoutCheck check = new LayoutCheck(layouts);
    Layouts.STRUCTS.forEach(check::struct);
    Layouts.ENUMS.forEach(check::enumeration);
    assertEquals(List.of(), check.mismatches());
  }

  @Test
  void shouldKnowEveryStructAndEnumThatCShares() {
    final Set<String> inJava =
        Stream.concat(
                Layouts.STRUCTS.stream().map(StructSpec::name),
                Layouts.ENUMS.stream().map(EnumSpec::name))
            .collect(Collectors.toCollection(TreeSet::new));
    final Set<String> inC = new TreeSet<>();
    for (int id = 0; id < layouts.size(); id++) {
      if (layouts.type(id) instanceof final BtfType.Variable variable
          && variable.name().startsWith(SHOWN)) {
        inC.add(variable.name().substring(SHOWN.length()));
      }
    }
    assertEquals(inC, inJava);
  }

  @ParameterizedTest
  @ValueSource(strings = {"endpoint", "host", "prefilter", "conntrack_gc"})
  void shouldAgreeWithEachProgramOnWhatItUses(String object) {
    final Btf btf = Btf.of(ShippedObjects.read(object));
    final LayoutCheck check = new LayoutCheck(btf);
    int used = 0;
    for (final StructSpec spec : Layouts.STRUCTS) {
      if (btf.struct(spec.name()).isPresent()) {
        check.struct(spec);
        used++;
      }
    }
    for (final EnumSpec spec : Layouts.ENUMS) {
      if (btf.enumeration(spec.name()).isPresent()) {
        check.enumeration(spec);
      }
    }
    assertEquals(List.of(), check.mismatches());
    assertTrue(used > 0, object + " shares a struct");
  }

  @Test
  void shouldDefineEveryMapAsTheHeadersDo() {
    final List<String> inC = BtfMap.of(layouts).stream().map(Object::toString).sorted().toList();
    final List<String> inJava =
        NodeMaps.ALL.stream().map(ShippedLayoutTest::declared).sorted().toList();
    assertEquals(inC, inJava);
  }

  @Test
  void shouldDefineThePolicyMapAsTheHeadersDo() {
    int id = 0;
    while (!(layouts.type(id) instanceof final BtfType.Composite composite
        && composite.name().equals("policy_map"))) {
      id++;
    }
    final MapDefinition policy = NodeMaps.POLICY;
    assertEquals(
        new BtfMap(
            policy.name(),
            policy.type(),
            "", // the inner map of a map of maps is declared by sizes
            policy.keySize(),
            "",
            policy.valueSize(),
            policy.maxEntries(),
            policy.flags()),
        BtfMap.declared(layouts, policy.name(), id));
  }

  private static String declared(MapDefinition definition) {
    final boolean outer = definition == NodeMaps.POLICIES; // its value is declared as a map
    return new BtfMap(
            definition.name(),
            definition.type(),
            typeName(definition.keyStruct(), definition.keySize()),
            definition.keySize(),
            outer ? "" : typeName(definition.valueStruct(), definition.valueSize()),
            outer ? 0 : definition.valueSize(),
            definition.maxEntries(),
            definition.flags())
        .toString();
  }

  private static String typeName(StructSpec struct, int size) {
    if (struct != null) {
      return struct.name();
    }
    return size == 0 ? "" : size == Long.BYTES ? "__u64" : "__u32";
  }

  @Test
  void shouldFindTheConfigurationOfPrograms() {
    final ElfObject object = ShippedObjects.read("endpoint");
    final DataSectionLayout rodata = DataSectionLayout.of(object, Btf.of(object), ".rodata");
    final List<String> names = new ArrayList<>();
    for (final DataSectionLayout.Location location : rodata.variables()) {
      names.add(location.name() + " " + location.typeName() + " " + location.size());
    }
    assertTrue(names.contains("endpoint_config endpoint_config 48"), names.toString());
    assertTrue(names.contains("node_config node_config 64"), names.toString());
    final int first = rodata.variable("endpoint_config").offset();
    final int second = rodata.variable("node_config").offset();
    assertTrue(
        first + 48 <= second || second + 64 <= first, "overlap at " + first + " and " + second);
    assertTrue(rodata.has("node_config") && !rodata.has("absent"));
    assertThrows(BtfException.class, () -> rodata.variable("absent"));
  }

  @Test
  void shouldNameASectionThatIsMissing() {
    final ElfObject object = ShippedObjects.read("layouts");
    assertEquals(
        "ELF object: no section .absent",
        assertThrows(BtfException.class, () -> object.section(".absent")).getMessage());
    assertThrows(BtfException.class, () -> DataSectionLayout.of(object, Btf.of(object), ".absent"));
  }

  @Test
  void shouldRefuseWhatIsNoObject() {
    assertEquals(
        "ELF object: truncated, 3 bytes",
        assertThrows(BtfException.class, () -> ElfObject.parse(new byte[3])).getMessage());
    assertEquals(
        "ELF object: not a 64-bit ELF file",
        assertThrows(BtfException.class, () -> ElfObject.parse(new byte[64])).getMessage());
  }
}
