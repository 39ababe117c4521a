package agent.maps.btf.generator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.btf.Btf;
import agent.maps.btf.BtfType;
import agent.maps.btf.BtfType.Composite;
import agent.maps.btf.BtfType.Enumeration;
import agent.maps.btf.BtfType.Variable;
import agent.maps.btf.ShippedObjects;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The layouts are made from one object; the programs have the same structs and enums. */
class ShippedTypesTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "endpoint",
        "host",
        "prefilter",
        "balancer",
        "prefilter_balancer",
        "conntrack_gc",
        "socket",
        "socket_find",
        "socket_end",
        "proxy_filter"
      })
  void shouldHaveEachTypeAlikeInEveryObject(String object) {
    final Btf layouts = Btf.of(ShippedObjects.read("layouts"));
    final Btf program = Btf.of(ShippedObjects.read(object));
    int used = 0;
    for (int id = 0; id < layouts.size(); id++) {
      if (layouts.type(id) instanceof final Variable variable) {
        used += compare(layouts.resolve(variable.type()), layouts, program);
      }
    }
    assertTrue(used > 0, object + " shares a type");
  }

  /** Returns the number of types that both have. */
  private static int compare(BtfType shown, Btf layouts, Btf program) {
    final String name = shown.name();
    return switch (shown) {
      case Composite _ when !name.isEmpty() && program.find(Composite.class, name).isPresent() -> {
        assertEquals(StructLayout.of(layouts, name), StructLayout.of(program, name));
        yield 1;
      }
      case Enumeration inLayouts -> {
        final Optional<Enumeration> inProgram = program.find(Enumeration.class, name);
        inProgram.ifPresent(found -> assertEquals(inLayouts, found));
        yield inProgram.isPresent() ? 1 : 0;
      }
      default -> 0;
    };
  }
}
