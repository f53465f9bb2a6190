"""The comparison of the books finds each kind of failure, and nothing where there is none."""

import unittest

from demo.books import Books, Clear, Delivered, Gap, compare

LOG = 7
FIRST = 2**32 - 5
"""The log wraps in these tests: nothing may depend on sequences that only grow."""


def sequence(index: int) -> int:
    return (FIRST + index) % 2**32


def window(index: int) -> tuple[int, int]:
    return LOG, sequence(index)


def sound_books(count: int = 20, cleared: int = 10, delivered: int = 15) -> Books:
    """``count`` produced, the first ``delivered`` of them at the backend since time 100, the first ``cleared`` cleared at 200."""
    return Books(
        owner="anna",
        produced={window(index): f"sha of {index}" for index in range(count)},
        held={window(index) for index in range(cleared, count)},
        clears=[Clear(LOG, sequence(cleared - 1), 200)],
        delivered={window(index): Delivered(f"sha of {index}", "anna", 100) for index in range(delivered)},
        repeated=3,
    )


class SoundBooks(unittest.TestCase):
    def assert_sound(self, books: Books) -> None:
        found = compare(books)
        self.assertEqual((found.lost, found.altered, found.cleared_early, found.invented, found.misfiled, found.unfounded_gaps, found.unfounded_clears),
                         ([], [], [], [], [], [], []))

    def test_nothing_is_found_in_sound_books_and_everything_is_counted(self):
        found = compare(sound_books())
        self.assert_sound(sound_books())
        self.assertEqual((found.produced, found.delivered, found.repeated, found.duplicates, found.cleared, found.held, found.gaps), (20, 15, 3, 0, 10, 10, {}))

    def test_a_window_that_the_collar_still_holds_is_not_lost(self):
        self.assert_sound(sound_books(delivered=10))

    def test_a_window_that_was_overwritten_and_reported_is_not_lost(self):
        books = sound_books(cleared=10)
        for index in (3, 4):
            del books.delivered[window(index)]
        books.gaps = [Gap(LOG, sequence(3), 2, "overwritten", 150)]
        books.gone = {window(3), window(4)}
        self.assert_sound(books)
        self.assertEqual(compare(books).gaps, {"overwritten": 2})

    def test_a_gap_may_cross_the_wrap(self):
        books = sound_books(cleared=10)
        books.gone = {window(index) for index in range(2, 8)}
        books.gaps = [Gap(LOG, sequence(2), 6, "overwritten", 150)]
        for index in range(2, 8):
            del books.delivered[window(index)]
        self.assert_sound(books)

    def test_a_clear_at_the_moment_of_durability_is_not_early(self):
        books = sound_books()
        books.clears = [Clear(LOG, sequence(9), 100)]
        self.assert_sound(books)

    def test_the_same_clear_twice_counts_once(self):
        books = sound_books()
        books.clears *= 2
        self.assert_sound(books)
        self.assertEqual(compare(books).cleared, 10)

    def test_two_logs_are_told_apart(self):
        books = sound_books()
        books.produced[8, sequence(0)] = "sha in the other log"
        books.held.add((8, sequence(0)))
        self.assert_sound(books)


class UnsoundBooks(unittest.TestCase):
    def test_a_window_that_is_nowhere_is_lost_and_was_cleared_early(self):
        books = sound_books()
        del books.delivered[window(4)]
        found = compare(books)
        self.assertEqual((found.lost, found.cleared_early), ([window(4)], [window(4)]))

    def test_a_window_that_vanished_from_the_collar_without_a_clear_is_lost(self):
        books = sound_books(delivered=10)
        books.held.remove(window(19))
        self.assertEqual(compare(books).lost, [window(19)])

    def test_one_other_byte_is_an_alteration(self):
        books = sound_books()
        books.delivered[window(6)] = Delivered("sha of something else", "anna", 100)
        found = compare(books)
        self.assertEqual((found.altered, found.lost), ([window(6)], []))

    def test_a_window_cleared_before_it_was_durable_is_found_although_it_arrived_later(self):
        books = sound_books()
        books.delivered[window(2)] = Delivered("sha of 2", "anna", 201)
        found = compare(books)
        self.assertEqual((found.cleared_early, found.lost, found.altered), ([window(2)], [], []))

    def test_each_window_counts_from_the_first_clear_that_took_it(self):
        books = sound_books()
        books.clears = [Clear(LOG, sequence(9), 200), Clear(LOG, sequence(4), 50)]
        self.assertEqual(compare(books).cleared_early, [window(index) for index in range(5)])

    def test_a_window_is_cleared_once_however_often_the_clears_go_back(self):
        books = sound_books()
        del books.delivered[window(7)]
        books.clears = [Clear(LOG, sequence(9), 200), Clear(LOG, sequence(4), 210), Clear(LOG, sequence(9), 220)]
        self.assertEqual(compare(books).cleared_early, [window(7)])

    def test_a_clear_before_the_report_of_the_gap_was_durable_is_early(self):
        books = sound_books()
        del books.delivered[window(3)]
        books.gaps = [Gap(LOG, sequence(3), 1, "overwritten", 300)]
        books.gone = {window(3)}
        self.assertEqual(compare(books).cleared_early, [window(3)])

    def test_a_gap_that_the_collar_knows_nothing_of_is_unfounded(self):
        books = sound_books()
        del books.delivered[window(3)]
        books.gaps = [Gap(LOG, sequence(3), 1, "overwritten", 150)]
        self.assertEqual(compare(books).unfounded_gaps, [window(3)])

    def test_a_window_that_was_never_produced_is_invented(self):
        books = sound_books()
        books.delivered[LOG, 77_777] = Delivered("sha", "anna", 100)
        self.assertEqual(compare(books).invented, [(LOG, 77_777)])

    def test_a_window_under_another_owner_is_misfiled(self):
        books = sound_books()
        books.delivered[window(1)] = Delivered("sha of 1", "ben", 100)
        self.assertEqual(compare(books).misfiled, [window(1)])

    def test_a_clear_of_what_was_never_produced_is_unfounded(self):
        books = sound_books()
        books.clears.append(Clear(LOG, 77_777, 200))
        self.assertEqual(compare(books).unfounded_clears, [Clear(LOG, 77_777, 200)])


if __name__ == "__main__":
    unittest.main()
