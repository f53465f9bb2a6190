"""RFC 8941 as far as the contract uses it, with the RFC's own examples."""

import decimal
import unittest

from backend.structured_fields import FieldError, InnerList, Item, Token, parse_dictionary, parse_item, parse_list


class StructuredFields(unittest.TestCase):
    def test_items_of_every_type(self):
        for text, value in [("42", 42), ("-0", 0), ("4.5", decimal.Decimal("4.5")), ('"hello \\"world\\""', 'hello "world"'), ("foo123/456", Token("foo123/456")),
                            (":cHJldGVuZCB0aGlz:", b"pretend this"), ("?1", True), ("?0", False), ("999999999999999", 999999999999999)]:
            with self.subTest(text):
                found = parse_item(text).value
                self.assertEqual(found, value)
                self.assertIs(type(found), type(value))

    def test_a_token_is_not_the_string_of_the_same_letters(self):
        self.assertNotEqual(parse_item("synced").value, parse_item('"synced"').value)

    def test_parameters_of_an_item(self):
        self.assertEqual(parse_item("synced;device=set; offset=-3;flag"),
                         Item(Token("synced"), {"device": Token("set"), "offset": -3, "flag": True}))

    def test_a_list_of_inner_lists_with_parameters(self):
        self.assertEqual(parse_list('(7 100 3);reason="overwritten",  ( 7 200 1 );reason="damaged"'), [
            InnerList((Item(7), Item(100), Item(3)), {"reason": "overwritten"}),
            InnerList((Item(7), Item(200), Item(1)), {"reason": "damaged"})])

    def test_an_empty_list_has_no_members(self):
        self.assertEqual(parse_list(""), [])

    def test_the_last_value_of_a_repeated_dictionary_key_counts(self):
        self.assertEqual(parse_dictionary("a=1, b, a=2"), {"b": Item(True), "a": Item(2)})

    def test_items_that_are_not_items(self):
        for text in ["", " ", "1 2", "1,2", '"open', '"bad \\n escape"', '"ü"', '"tab\t"', "1000000000000000", "1.", "1.2345", "--1", ":no base64!:", ":YQ==", "?2", "#",
                     "a;B=1", "a;", "1;", "(1)"]:
            with self.subTest(text), self.assertRaises(FieldError):
                parse_item(text)

    def test_lists_that_are_not_lists(self):
        for text in ["1,", ",1", "(1 2", "(1,2)", "(1)(2)", "1 2", "((1))", '(1"a")']:
            with self.subTest(text), self.assertRaises(FieldError):
                parse_list(text)

    def test_an_error_names_the_character(self):
        with self.assertRaises(FieldError) as caught:
            parse_list("(7 100 3), ?x")
        self.assertEqual(caught.exception.position, 12)


if __name__ == "__main__":
    unittest.main()
