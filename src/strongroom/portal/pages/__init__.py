"""Every page and action of the portal, as one table: the frame serves it and the tests walk it."""

from strongroom.portal.page import Page
from strongroom.portal.pages import documentation, home, playground, static

ALL: tuple[Page, ...] = (
    *home.PAGES,
    *documentation.PAGES,
    *playground.PAGES,
    *static.PAGES,
)
